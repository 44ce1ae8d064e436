-- Fills the one nhfc_call of this VM from Lua values. Types are converted here, meaning is checked
-- in Rust (tokens, control characters, lengths), so that no other caller can get round it.
--
-- The struct is shared by every request of the worker: a caller reads everything it needs out of
-- its tables first (a metamethod may yield), then calls the functions below and the nhfc_ function
-- with nothing in between that runs other Lua code.

local ffi = require "ffi"
local cdef = require "resty.ngx_http_ffi_client.cdef"

local abs = math.abs
local byte = string.byte
local ceil = math.ceil
local concat = table.concat
local encode_args = ngx.encode_args
local ffi_copy = ffi.copy
local ffi_new = ffi.new
local ffi_sizeof = ffi.sizeof
local floor = math.floor
local format = string.format
local lower = string.lower
local next = next
local pcall = pcall
local rawget = rawget
local sub = string.sub
local tonumber = tonumber
local tostring = tostring
local type = type

local INT_MAX = cdef.INT_MAX
local PIECES = cdef.PIECES

-- More header lines than servers accept: only a bound for the array below, which doubles.
local MAX_LINES = 1024


local _M = {}

local call = ffi_new("nhfc_call")
_M.call = call

-- Interior references: call.host.p would make a new cdata for "call.host" each time it is
-- interpreted.
local c_scheme, c_host, c_pool = call.scheme, call.host, call.pool
local c_method, c_path, c_query, c_body = call.method, call.path, call.query, call.body

local capacity = 32
local fields = ffi_new("nhfc_field[?]", capacity)

-- C sees bare pointers, the collector does not see them: whatever they point into is held here
-- until the call has returned. `texts` holds the texts made from numbers, by line.
local anchor, texts = {}, {}


local function put(str, value)
    str.p = value
    str.n = #value
end


-- A time in ms as Rust takes it: 0 for "the default in force" (nil, 0, and all that is no time).
local function milliseconds(value)
    value = tonumber(value)
    if not value or not (value > 0) then
        return 0
    end
    return value < INT_MAX and ceil(value) or INT_MAX
end
_M.milliseconds = milliseconds


-- An idle time in ms: -1 for the default, 0 for "never expires", which must be asked for exactly.
function _M.idle(value)
    if value == 0 then
        return 0
    end
    value = milliseconds(value)
    return value > 0 and value or -1
end


-- A pool size: 0 for the default.
function _M.size(value)
    value = type(value) == "number" and value >= 1 and floor(value) or 0
    return value < INT_MAX and value or INT_MAX
end


-- How many may wait for a connection: -1 when that was not said, which is to say that nobody waits.
function _M.backlog(value)
    value = type(value) == "number" and value >= 0 and floor(value) or -1
    return value < INT_MAX and value or INT_MAX
end


-- The name of a pool as a string, or nil for "by origin".
function _M.pool_name(value)
    if type(value) == "number" then
        return tostring(value)
    end
    return type(value) == "string" and value or nil
end


-- Scheme, host and port as they go to Rust, or nil, err.
function _M.target(scheme, host, port)
    if scheme == nil then
        scheme = "http"
    elseif type(scheme) ~= "string" then
        return nil, "scheme must be a string, not " .. type(scheme)
    elseif scheme ~= "http" and scheme ~= "https" then
        scheme = lower(scheme)
    end

    if type(host) ~= "string" then
        return nil, "host must be a string, not " .. type(host)
    end

    if port == nil then
        port = scheme == "https" and 443 or 80
    else
        local given = port
        port = tonumber(port)
        if not port or not (port >= 1 and port <= 65535) or port ~= floor(port) then
            return nil, "port must be a number from 1 to 65535, not "
                        .. (type(given) == "number" and given or type(given))
        end
    end

    return scheme, host, port
end


function _M.put_target(scheme, host, port)
    anchor.host, anchor.scheme = host, scheme
    put(c_scheme, scheme)
    put(c_host, host)
    call.port = port
end


-- The pool, and for how many requests and how long a connection is used that is opened.
function _M.put_pool(pool, pool_size, backlog, requests, time)
    anchor.pool = pool
    if pool then
        put(c_pool, pool)
    else
        c_pool.p = nil
        c_pool.n = 0
    end
    call.pool_size = pool_size
    call.backlog = backlog
    call.life_requests = requests
    call.life_ms = time
end


function _M.put_times(connect, send, read, total, expect)
    call.connect_ms = connect
    call.send_ms = send
    call.read_ms = read
    call.total_ms = total
    call.expect_ms = expect
end


-- Plain digits for whole numbers that "%.14g" would write with an exponent: microsecond stamps,
-- ids.
local function number_text(value)
    if abs(value) >= 1e14 and abs(value) < 2 ^ 53 and value == floor(value) then
        return format("%.0f", value)
    end
    return tostring(value)
end
_M.number_text = number_text


-- What an error of the caller's code says. It may be any value, and its metatable may throw.
function _M.text_of(err)
    local ok, text = pcall(tostring, err)
    return ok and type(text) == "string" and text or type(err)
end


local function grow(n)
    if n >= MAX_LINES then
        return false
    end
    local larger = ffi_new("nhfc_field[?]", capacity * 2)
    ffi_copy(larger, fields, ffi_sizeof("nhfc_field") * n)
    fields, capacity = larger, capacity * 2
    return true
end


-- Writes line `n`; n + 1, or nil, err.
local function put_line(n, name, value)
    local kind = type(value)
    if kind == "number" then
        value = number_text(value)
        texts[n] = value
    elseif kind ~= "string" then
        return nil, "header " .. name .. ": the value must be a string, a number or an array of "
                    .. "these, not " .. kind
    end

    if n == capacity and not grow(n) then
        return nil, "more than " .. MAX_LINES .. " request header lines"
    end

    local field = fields[n]
    put(field.name, name)
    put(field.value, value)
    return n + 1
end


-- The two functions below are tail calls where one would expect loops. A loop with its own trace
-- ends the recording of whatever contains it, so the whole request would be interpreted; a function
-- with its own trace is linked to.

-- Lines for list[i] and what follows it (nil is skipped); the next line's number, or nil, err.
local function put_items(n, name, list, i, length)
    if i > length then
        return n
    end

    local value = rawget(list, i)
    if value ~= nil then
        local err
        n, err = put_line(n, name, value)
        if not n then
            return nil, err
        end
    end
    return put_items(n, name, list, i + 1, length)
end


-- Lines for what follows `key` in `headers`; how many lines there are then, or nil, err. `next` and
-- not `pairs`: no metamethod runs while the struct is half filled.
local function put_from(n, headers, key)
    local name, value = next(headers, key)
    if name == nil then
        return n
    end
    if type(name) ~= "string" then
        return nil, "header names must be strings, not " .. type(name)
    end

    local err
    if type(value) == "table" then
        local length = #value
        if length == 0 and next(value) ~= nil then
            -- A mistake, not an empty list.
            return nil, "header " .. name .. ": a table of values must be an array"
        end
        n, err = put_items(n, name, value, 1, length)
    else
        n, err = put_line(n, name, value)
    end
    if not n then
        return nil, err
    end
    return put_from(n, headers, name)
end


local function put_headers(headers)
    local n, err = 0, nil
    if headers ~= nil then
        if type(headers) ~= "table" then
            return nil, "headers must be a table, not " .. type(headers)
        end
        anchor.headers = headers
        n, err = put_from(0, headers, nil)
        if not n then
            return nil, err
        end
    end

    call.fields = fields
    call.nfields = n
    return true
end


-- The body as a string; false when there is none; nil, err.
local function body_text(body)
    local kind = type(body)
    if kind == "string" then
        return body
    elseif kind == "nil" then
        return false
    elseif kind == "number" then
        return number_text(body)
    elseif kind ~= "table" then
        return nil, "the request body must be a string, a number, an array of these or an iterator, "
                    .. "not " .. kind
    end

    local parts, length = {}, #body
    if length == 0 and next(body) ~= nil then
        return nil, "a request body table must be an array"
    end
    for i = 1, length do
        local part = rawget(body, i)
        if type(part) == "number" then
            part = number_text(part)
        elseif type(part) ~= "string" then
            return nil, "a request body array holds strings and numbers, not " .. type(part)
        end
        parts[i] = part
    end
    return concat(parts)
end


-- The query without its "?", "" when there is none; or nil, err.
local function query_text(query)
    local kind = type(query)
    if kind == "nil" then
        return ""
    elseif kind == "table" then
        local ok, text = pcall(encode_args, query)
        if not ok then
            return nil, "query: " .. text
        end
        return text
    elseif kind == "number" then
        return number_text(query)
    elseif kind ~= "string" then
        return nil, "query must be a string or a table, not " .. kind
    end

    if byte(query, 1) == 63 then                         -- "?"
        query = sub(query, 2)
    end
    return query
end


-- What both entry points send. The flag to be set for it, or nil, err.
function _M.put_message(method, path, query, headers, body)
    if method == nil then
        method = "GET"
    elseif type(method) ~= "string" then
        return nil, "method must be a string, not " .. type(method)
    end

    if path == nil then
        path = "/"
    elseif type(path) ~= "string" then
        return nil, "path must be a string, not " .. type(path)
    end

    local err
    query, err = query_text(query)
    if not query then
        return nil, err
    end

    local flag = 0
    if type(body) == "function" then
        -- Its pieces are asked for when there is a connection for them.
        body, flag = false, PIECES
    else
        body, err = body_text(body)
        if body == nil then
            return nil, err
        end
    end

    local ok
    ok, err = put_headers(headers)
    if not ok then
        return nil, err
    end

    anchor.method, anchor.path, anchor.query, anchor.body = method, path, query, body
    put(c_method, method)
    put(c_path, path)
    put(c_query, query)
    if body then
        put(c_body, body)
    else
        c_body.p = nil
        c_body.n = 0
    end
    return flag
end


-- Lets go of what may be large. Called when the nhfc_ function has returned.
function _M.release()
    anchor.headers, anchor.body = nil, nil
end


return _M
