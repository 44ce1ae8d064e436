-- What a request gives back. A response is either all here (`body`), or a view of an exchange that
-- Rust still runs (`_nhfc_id`), whose body is pulled piece by piece.
--
-- Fields of our own begin with "_nhfc_"; callers may add any other.
--   _nhfc_head    the head's bytes, for `headers` and `reason`
--   _nhfc_id      handle of the exchange while its body may still have bytes
--   _nhfc_client  the object the response came from
--   _nhfc_buf     bytes that came with an error, to be given out before it
--   _nhfc_pos     how much of _nhfc_buf or body the reader has given out
--   _nhfc_err     why the body ended early, the same on every later call

local ffi = require "ffi"
local cdef = require "resty.ngx_http_ffi_client.cdef"
local handle = require "resty.ngx_http_ffi_client.handle"
local headers = require "resty.ngx_http_ffi_client.headers"
local wait = require "resty.ngx_http_ffi_client.wait"

local C = ffi.C
local band = require("bit").band
local ffi_str = ffi.string
local floor = math.floor
local setmetatable = setmetatable
local sub = string.sub
local type = type

local cancel = handle.cancel
local enter = wait.enter
local error_text = wait.error_text
local get_request = wait.get_request
local headers_add = headers.add
local headers_of_head = headers.of_head
local headers_reason = headers.reason
local idle = handle.idle
local result = wait.result
local sleep = wait.sleep

local AGAIN = cdef.AGAIN
local ENDED = cdef.ENDED
local HAS_BODY = cdef.HAS_BODY
local INT_MAX = cdef.INT_MAX
local OK = cdef.OK

-- The largest piece when the reader is called without a size.
local PIECE = 65536


local _M = {}
local methods = {}


-- Outside the metamethod: LuaJIT compiles no function that makes a closure.
local function make_reader(res)
    local function reader(size)
        return methods.read(res, size)
    end
    res.body_reader = reader
    return reader
end


-- Made when first looked at: most callers want none of the four, and a table of headers costs more
-- than the rest of a response does.
local mt = {
    __index = function(res, key)
        if key == "headers" then
            local fields = headers_of_head(res._nhfc_head)
            res.headers = fields
            return fields
        end
        if key == "reason" then
            local reason = headers_reason(res._nhfc_head)
            res.reason = reason
            return reason
        end
        if key == "body_reader" then
            return make_reader(res)
        end
        if key == "trailers" then
            local trailers = headers_of_head(nil)
            res.trailers = trailers
            return trailers
        end
        return methods[key]
    end,
}


-- A table the caller already has in hand gets the fields; it is the same one before and after.
local function take_trailers(res)
    local n = result.tail.n
    if n > 0 then
        headers_add(res.trailers, ffi_str(result.tail.p, n))
    end
end


local function finish(res)
    res._nhfc_id, res._nhfc_buf = nil, ""
    take_trailers(res)
end


-- The exchange failed. Bytes that came before the error are not lost: they are read first.
-- Where the handle lives on (another thread waits, another request owns it) nothing has changed.
local function fail(res, id)
    local err = error_text()
    if result.id ~= id then
        local client = res._nhfc_client
        if client._nhfc_id == id then
            client._nhfc_id = nil
        end
        res._nhfc_id, res._nhfc_err = nil, err
        res._nhfc_buf, res._nhfc_pos = ffi_str(result.body.p, result.body.n), 0
    end
    return err
end


-- The next piece of what is already here; at its end nil, or nil and the error.
local function from_memory(res, max)
    local bytes, at = res._nhfc_buf or res.body, res._nhfc_pos or 0
    if type(bytes) == "string" and at < #bytes then
        local piece = sub(bytes, at + 1, at + max)
        res._nhfc_pos = at + #piece
        return piece
    end
    return nil, res._nhfc_err
end


-- nil, err when the response may be read from Rust no more: its object was closed, pooled, or
-- connected elsewhere.
local function live(res, id)
    if res._nhfc_client._nhfc_id ~= id then
        res._nhfc_id, res._nhfc_buf, res._nhfc_err = nil, "", "closed"
        return nil, "closed"
    end
    return enter()
end


local function piece_size(size)
    if size == nil then
        return PIECE
    end
    if type(size) ~= "number" or not (size >= 1) then
        return nil, "the size of a piece must be a number of at least 1"
    end
    return size < INT_MAX and floor(size) or INT_MAX
end


-- Waits for the bytes of `res`. The object is marked so that another thread does not reconnect it
-- meanwhile.
local function await(res, id)
    local client = res._nhfc_client
    client._nhfc_waiting = id
    local ok, err = sleep()
    idle(client, id)
    if ok then
        return true
    end

    cancel(client, id)
    res._nhfc_id, res._nhfc_buf, res._nhfc_err = nil, "", err
    return nil, err
end


-- Gets the next piece of at most `max` bytes into `result`, or with no `max` the whole rest. true,
-- or nil, err. (A tail call and no loop, see request.lua.)
local function pull(res, id, max)
    local rc
    if max then
        rc = C.nhfc_read(get_request(), id, max, result)
    else
        rc = C.nhfc_read_all(get_request(), id, result)
    end

    if rc == OK then
        return true
    end
    if rc ~= AGAIN then
        return nil, fail(res, id)
    end

    local ok, err = await(res, id)
    if not ok then
        return nil, err
    end
    return pull(res, id, max)
end


-- One piece as it arrives, never more than `size` bytes; nil at the end; nil, err.
function methods.read(res, size)
    local max, err = piece_size(size)
    if not max then
        return nil, err
    end

    local id = res._nhfc_id
    if not id then
        return from_memory(res, max)
    end

    local ok
    ok, err = live(res, id)
    if not ok then
        return nil, err
    end

    ok, err = pull(res, id, max)
    if not ok then
        if res._nhfc_id then            -- another thread's turn: nothing has changed
            return nil, err
        end
        return from_memory(res, max)
    end

    local n = result.body.n
    if n > 0 then
        local piece = ffi_str(result.body.p, n)
        return piece
    end
    if band(result.flags, ENDED) ~= 0 then
        finish(res)
    end
    return nil
end


-- The rest of the body as one string; or nil, err and what had arrived. A body that was gathered
-- by the request itself is given each time.
function methods.read_body(res)
    local id = res._nhfc_id
    if not id then
        local bytes = res._nhfc_buf
        if not bytes then
            return res.body or ""
        end
        local rest = sub(bytes, (res._nhfc_pos or 0) + 1)
        res._nhfc_pos = #bytes
        if res._nhfc_err then
            return nil, res._nhfc_err, rest
        end
        return rest
    end

    local ok, err = live(res, id)
    if not ok then
        return nil, err, ""
    end

    ok, err = pull(res, id)
    if not ok then
        if res._nhfc_id then
            return nil, err, ""
        end
        local partial = res._nhfc_buf
        res._nhfc_buf = ""
        return nil, err, partial
    end

    local body = ffi_str(result.body.p, result.body.n)
    finish(res)
    return body
end


-- The trailers, once the body was read to its end: they come behind it (RFC 9112, 7.1.2).
function methods.read_trailers(res)
    if res._nhfc_id then
        return nil, "the body has not been read to its end"
    end
    if res._nhfc_err then
        return nil, res._nhfc_err
    end
    return res.trailers
end


-- A response whose body is in `result` already.
function _M.whole()
    local res = {
        status = result.status,
        _nhfc_head = ffi_str(result.head.p, result.head.n),
        has_body = band(result.flags, HAS_BODY) ~= 0,
        body = ffi_str(result.body.p, result.body.n),
    }
    setmetatable(res, mt)
    take_trailers(res)
    return res
end


-- A response of which `result` holds the head; `client` holds the connection.
function _M.streamed(client)
    local has_body = band(result.flags, HAS_BODY) ~= 0
    local res = {
        status = result.status,
        _nhfc_head = ffi_str(result.head.p, result.head.n),
        has_body = has_body,
        _nhfc_client = client,
        _nhfc_id = has_body and client._nhfc_id or nil,
        _nhfc_buf = not has_body and "" or nil,
    }
    setmetatable(res, mt)
    return res
end


return _M
