-- What a careful Lua programmer writes by hand for one GET when no client library is wanted:
-- pooled connection, status line, header fields, a body of Content-Length. Nothing else.

local tcp = ngx.socket.tcp
local match, lower, sub = string.match, string.lower, string.sub
local tonumber = tonumber

return function(port)
    local sock = tcp()
    sock:settimeouts(60000, 60000, 60000)
    local ok, err = sock:connect("127.0.0.1", port, { pool_size = 200 })
    if not ok then
        return nil, err
    end

    ok, err = sock:send("GET / HTTP/1.1\r\nHost: 127.0.0.1:" .. port .. "\r\n\r\n")
    if not ok then
        return nil, err
    end

    local line
    line, err = sock:receive("*l")
    if not line then
        return nil, err
    end
    local status = tonumber(sub(line, 10, 12))

    local headers = {}
    while true do
        line, err = sock:receive("*l")
        if not line then
            return nil, err
        end
        if line == "" then
            break
        end
        local name, value = match(line, "^([^:]+): *(.*)$")
        headers[lower(name)] = value
    end

    local body
    body, err = sock:receive(tonumber(headers["content-length"]))
    if not body then
        return nil, err
    end
    if headers["connection"] == "close" then
        sock:close()
    else
        sock:setkeepalive(60000, 200)
    end
    if status ~= 200 then
        return nil, "status " .. status
    end
    return body
end
