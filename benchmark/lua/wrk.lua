-- Run by wrk: its totals as one JSON line, so that nothing is read from text meant for people.
function done(summary)
    local e = summary.errors
    print(string.format('totals {"requests":%d,"bytes":%d,"duration_us":%d,"connect":%d,"read":%d,"write":%d,'
        .. '"timeout":%d,"status":%d}', summary.requests, summary.bytes, summary.duration,
        e.connect, e.read, e.write, e.timeout, e.status))
end
