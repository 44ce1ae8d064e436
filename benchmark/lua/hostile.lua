-- One request after another to an upstream that misbehaves (benchmark/hostile), in each of the ways there are, with
-- a look at every byte that comes back. Whole bodies and beginnings of bodies must be this request's.

local client = require "resty.ngx_http_ffi_client"

local _M = {}

local asked, running, longest = 0, 0, 0
local outcomes = {}

-- What must not be taken for a whole answer.
local broken = {
    ["reset-before"] = true, ["reset-head"] = true, ["reset-body"] = true, ["fin-before"] = true, ["fin-head"] = true,
    ["fin-body"] = true, ["fin-chunk"] = true, ["stall-head"] = true, ["stall-body"] = true, ["garbage-head"] = true,
    ["garbage-chunk"] = true, ["two-framings"] = true, ["bad-length"] = true,
}

local idle = 1000
local upload = ("x"):rep(100000)


-- Whether `text` is how the body for `id` begins, or with `whole` all of it.
local function is_right(id, text, whole, short)
    local from, to, number, length = text:find("^(%d+):(%d+):")
    if not from then
        return not whole and (id .. ":"):sub(1, #text) == text:sub(1, #id + 1)
    end
    length = tonumber(length)
    local unit = id .. "/"
    local expected = number .. ":" .. length .. ":" .. unit:rep(math.ceil(length / #unit))
    local wanted = short and math.min(length, 1000) or length
    return number == id and expected:sub(1, math.min(#text, length)) == text and (not whole or #text == wanted)
end


local function one_shot(port, id)
    return client.request_uri({
        host = "127.0.0.1", port = port, path = "/" .. id, read_timeout = 2000,
        keepalive = { pool_size = 200, idle_timeout = idle },
    })
end


local function post(port, id)
    return client.request_uri({
        host = "127.0.0.1", port = port, path = "/" .. id, method = "POST", body = upload, read_timeout = 2000,
        keepalive = { pool_size = 200, idle_timeout = idle },
    })
end


-- As it arrives.
local function stream(port, id)
    local httpc = client.new()
    httpc:set_timeouts(2000, 2000, 2000)
    local ok, err = httpc:connect({ host = "127.0.0.1", port = port, pool_size = 200 })
    if not ok then
        return nil, err
    end
    local res
    res, err = httpc:request({ path = "/" .. id })
    if not res then
        return nil, err
    end
    local parts, n = {}, 0
    repeat
        local piece
        piece, err = res.body_reader(3000)
        n = n + 1
        parts[n] = piece
    until not piece
    local text = table.concat(parts)
    if err then
        return nil, err, text
    end
    httpc:set_keepalive(idle)
    return { status = res.status, headers = res.headers, body = text }
end


local ways = { [0] = post, stream, stream }


function _M.run(port)
    asked, running = asked + 1, running + 1
    local id, start = tostring(asked), ngx.now()
    local res, err, partial = (ways[asked % 10] or one_shot)(port, id)
    ngx.update_time()
    running, longest = running - 1, math.max(longest, ngx.now() - start)

    local kind = res and res.headers["X-Kind"]
    local right
    if res then
        right = res.status == 200 and not broken[kind] and is_right(id, res.body, true, res.headers["X-Short"])
    else
        right = is_right(id, partial or "", false)
    end
    local outcome = not right and "WRONG" or res and "whole " .. kind or "error " .. err
    outcomes[outcome] = (outcomes[outcome] or 0) + 1
    if not right then
        ngx.log(ngx.ERR, "request ", id, ": ", kind or err, ": ", (res and res.body or partial):sub(1, 200))
    end
    ngx.print(right and "right" or "wrong")
end


function _M.report()
    ngx.say("running ", running, "\nlongest ", longest)
    for outcome, n in pairs(outcomes) do
        ngx.say(outcome, "\t", n)
    end
end


return _M
