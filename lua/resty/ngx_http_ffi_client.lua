-- An HTTP/1.1 client for nginx workers: request_uri(opts) for one request, new() for an object
-- that owns its connection. docs/lua-api.md is the reference.
--
-- This file decides what a call means and who holds which handle; request.lua fills in what is
-- sent, response.lua is what comes back, wait.lua is how a light thread waits. All work on the
-- wire is done by the nginx module, which is reached by FFI only.

local subsystem = type(ngx) == "table" and ngx.config.subsystem

local _M = { _VERSION = "0.1.0" }

-- The request pointer of another subsystem is of another type, so nothing of ours may see it.
if subsystem ~= "http" then
    local function refuse()
        return nil, "ngx_http_ffi_client works in the http subsystem only, not in "
                    .. (subsystem or "a program that is not nginx")
    end
    _M.new, _M.request_uri, _M.stats = refuse, refuse, refuse
    return _M
end


local cdef = require "resty.ngx_http_ffi_client.cdef"
local limits_parser = require "resty.ngx_http_ffi_client.limits"
local names = require "resty.ngx_http_ffi_client.names"
local request = require "resty.ngx_http_ffi_client.request"
local response = require "resty.ngx_http_ffi_client.response"
local stats = require "resty.ngx_http_ffi_client.stats"
local uri_parser = require "resty.ngx_http_ffi_client.uri"
local wait = require "resty.ngx_http_ffi_client.wait"

local C = require("ffi").C
local backlog_of = request.backlog
local enter = wait.enter
local error_text = wait.error_text
local get_request = wait.get_request
local getmetatable = getmetatable
local here = wait.here
local idle = request.idle
local load = cdef.load
local milliseconds = request.milliseconds
local parse = uri_parser.parse
local pool_name = request.pool_name
local put_limits = limits_parser.put_limits
local put_message = request.put_message
local put_pool = request.put_pool
local put_target = request.put_target
local put_times = request.put_times
local release = request.release
local setmetatable = setmetatable
local settle = wait.settle
local size = request.size
local streamed = response.streamed
local target = request.target
local type = type
local whole = response.whole

local ERROR = cdef.ERROR
local KEEPALIVE = cdef.KEEPALIVE
local LIMITED = cdef.LIMITED
local OK = cdef.OK
local TRACE = cdef.TRACE
local WHOLE = cdef.WHOLE

local call = request.call
local result = wait.result

local NO_PROXY = "proxies are not supported yet"
local NOTHING = {}

-- Methods are found through the module, so that replacing module.connect or module.request reaches
-- every object. Fields of our own begin with "_nhfc_": _nhfc_id is the handle of the connection
-- (nil when there is none), _nhfc_waiting the handle a light thread waits on, if it is that one.
local mt = { __index = _M }


function _M.new()
    local ok, err = load()
    if not ok then
        return nil, err
    end
    local self = { _nhfc_connect = 0, _nhfc_send = 0, _nhfc_read = 0 }
    setmetatable(self, mt)
    return self
end


-- Sends what `call` holds as a request of its own, and gives the whole response.
local function fetch(body)
    local rc = C.nhfc_fetch(get_request(), call, result)
    release()
    if rc ~= OK then
        local err
        rc, err = settle(rc, nil, body)
        if rc ~= OK then
            return nil, err
        end
    end
    return whole()
end


-- Flags that any request may have, and what goes with them; nil, err.
local function extras(limits, trace)
    local flags = trace and TRACE or 0
    if limits then
        local ok, err = put_limits(limits)
        if not ok then
            return nil, err
        end
        flags = flags + LIMITED
    end
    return flags
end


-- The native form. Everything is read out of the caller's tables before `call` is touched.
local function fetch_options(opts)
    if type(opts) ~= "table" then
        return nil, "options must be a table, not " .. type(opts)
    end

    local ok, err = enter()
    if not ok then
        return nil, err
    end

    local method, path, query = opts.method, opts.path, opts.query
    local headers, body = opts.headers, opts.body
    local timeout = opts.timeout
    local connect, send, read = opts.connect_timeout, opts.send_timeout, opts.read_timeout
    local deadline, expect, limits = opts.deadline, opts.expect_timeout, opts.limits
    local keepalive, proxied = opts.keepalive, opts.proxy_opts
    local trace = opts.trace
    local scheme, host, port = target(opts.scheme, opts.host, opts.port)
    if not scheme then
        return nil, host
    end
    if proxied then
        return nil, NO_PROXY
    end

    local flags, pool, pool_size, idle_ms = WHOLE, nil, 0, -1
    local backlog, requests, time = -1, 0, 0
    if keepalive then
        flags = WHOLE + KEEPALIVE
        if type(keepalive) == "table" then
            pool, pool_size = pool_name(keepalive.pool), size(keepalive.pool_size)
            idle_ms, backlog = idle(keepalive.idle_timeout), backlog_of(keepalive.backlog)
            requests, time = size(keepalive.requests), milliseconds(keepalive.time)
        end
    end

    local extra, pieces
    extra, err = extras(limits, trace)
    if not extra then
        return nil, err
    end
    pieces, err = put_message(method, path, query, headers, body)
    if not pieces then
        release()
        return nil, err
    end

    put_target(scheme, host, port)
    put_pool(pool, pool_size, backlog, requests, time)
    put_times(milliseconds(connect or timeout), milliseconds(send or timeout),
              milliseconds(read or timeout), milliseconds(deadline), milliseconds(expect))
    call.flags = flags + extra + pieces
    call.idle_ms = idle_ms
    return fetch(body)
end


-- Closes the connection an object still has, before it gets another. true, or nil, err.
local function drop(self)
    local id = self._nhfc_id
    if id then
        -- Rust would close it under the thread that waits. (A mark of a handle that is gone was
        -- left by a thread that was killed.)
        if self._nhfc_waiting == id then
            return nil, "socket busy"
        end
        self._nhfc_id = nil
        if C.nhfc_close(get_request(), id, result) == ERROR and result.id == id then
            self._nhfc_id = id
            return nil, error_text()
        end
    end
    return true
end


-- lua-resty-http's form: the connection is kept unless keepalive is false.
local function fetch_uri(self, uri, params)
    if type(self) ~= "table" then
        return nil, "not an object of new()"
    end

    local ok, err = enter()
    if not ok then
        return nil, err
    end

    local scheme, host, port, path, query = parse(uri)
    if not scheme then
        return nil, host
    end

    if params == nil then
        params = NOTHING
    elseif type(params) ~= "table" then
        return nil, "params must be a table, not " .. type(params)
    end
    if params.proxy_opts or self.proxy_opts then
        return nil, NO_PROXY
    end

    local method, headers, body = params.method, params.headers, params.body
    path, query = params.path or path, params.query or query
    local keepalive, deadline, limits = params.keepalive, params.deadline, params.limits
    local expect, trace = params.expect_timeout, params.trace
    local idle_ms, pool = idle(params.keepalive_timeout), pool_name(params.pool)
    local pool_size, backlog = size(params.pool_size), backlog_of(params.backlog)
    local requests, time = size(params.keepalive_requests), milliseconds(params.keepalive_time)
    if pool_size == 0 then
        pool_size = size(params.keepalive_pool)
    end
    local connect, send, read = self._nhfc_connect, self._nhfc_send, self._nhfc_read

    local flags = keepalive == false and WHOLE or WHOLE + KEEPALIVE
    local extra, pieces
    extra, err = extras(limits, trace)
    if not extra then
        return nil, err
    end
    pieces, err = put_message(method, path, query, headers, body)
    ok = pieces
    if ok then
        ok, err = drop(self)
    end
    if not ok then
        release()
        return nil, err
    end

    put_target(scheme, host, port)
    put_pool(pool, pool_size, backlog, requests, time)
    put_times(connect, send, read, milliseconds(deadline), milliseconds(expect))
    call.flags = flags + extra + pieces
    call.idle_ms = idle_ms
    return fetch(body)
end


-- One function for both entry points, so that whoever replaces module.request_uri wraps both:
-- client.request_uri(opts), httpc:request_uri(uri, params).
function _M.request_uri(self, uri, params)
    if getmetatable(self) == mt or (uri ~= nil and self ~= _M) then
        return fetch_uri(self, uri, params)
    end
    if self == _M then                                   -- client:request_uri(opts)
        self = uri
    end
    return fetch_options(self)
end


-- Has a function look names up instead of nginx: fn(name) gives an address, an array of addresses in
-- the order to try them, or nil, err. For everybody in this worker; nil takes it back.
function _M.set_resolver(fn)
    return names.set(fn)
end


-- Times in ms; nil and 0 stand for the default in force where the request runs, as for cosockets.
function _M.set_timeouts(self, connect, send, read)
    connect, send, read = milliseconds(connect), milliseconds(send), milliseconds(read)
    self._nhfc_connect, self._nhfc_send, self._nhfc_read = connect, send, read

    local id = self._nhfc_id
    if id then
        local r = here()
        if r then
            C.nhfc_timeouts(r, id, connect, send, read, result)
        end
    end
    return true
end


function _M.set_timeout(self, timeout)
    return self:set_timeouts(timeout, timeout, timeout)
end


-- connect{ scheme, host, port, pool, pool_size, … }, or connect(host, port, { pool = … }).
function _M.connect(self, options, ...)
    local ok, err = enter()
    if not ok then
        return nil, err
    end

    local scheme, host, port
    if type(options) == "table" then
        scheme, host, port = options.scheme, options.host, options.port
    else
        host, port, options = options, ...
        if type(options) ~= "table" then
            options = NOTHING
        end
    end

    local pool, pool_size = pool_name(options.pool), size(options.pool_size)
    local backlog, deadline = backlog_of(options.backlog), milliseconds(options.deadline)
    local requests, time = size(options.keepalive_requests), milliseconds(options.keepalive_time)
    local flags = extras(nil, options.trace)
    if options.proxy_opts or self.proxy_opts then
        return nil, NO_PROXY
    end

    scheme, host, port = target(scheme, host, port)
    if not scheme then
        return nil, host
    end

    ok, err = drop(self)
    if not ok then
        return nil, err
    end

    put_target(scheme, host, port)
    put_pool(pool, pool_size, backlog, requests, time)
    put_times(self._nhfc_connect, self._nhfc_send, self._nhfc_read, deadline, 0)
    call.flags = flags

    local rc = C.nhfc_connect(get_request(), call, result)
    if rc == OK then
        self._nhfc_id = result.id
    else
        rc, err = settle(rc, self)
        if rc ~= OK then
            return nil, err
        end
    end
    self._nhfc_reused = result.reused
    return 1
end


-- Sends one request on the connection. The response is there when its head is, or with
-- preread_body when all of it is.
function _M.request(self, params)
    local ok, err = enter()
    if not ok then
        return nil, err
    end

    if params == nil then
        params = NOTHING
    elseif type(params) ~= "table" then
        return nil, "params must be a table, not " .. type(params)
    end

    local method, path, query = params.method, params.path, params.query
    local headers, body, preread = params.headers, params.body, params.preread_body
    local deadline, expect = params.deadline, params.expect_timeout
    local limits, trace = params.limits, params.trace

    local id = self._nhfc_id
    if not id then
        return nil, "closed"
    end

    local flags = preread and WHOLE or 0
    local extra, pieces
    extra, err = extras(limits, trace)
    if not extra then
        return nil, err
    end
    pieces, err = put_message(method, path, query, headers, body)
    if not pieces then
        release()
        return nil, err
    end
    put_times(self._nhfc_connect, self._nhfc_send, self._nhfc_read, milliseconds(deadline),
              milliseconds(expect))
    call.flags = flags + extra + pieces

    local rc = C.nhfc_request(get_request(), id, call, result)
    release()
    if self._nhfc_id == id then
        self._nhfc_id = result.id ~= 0 and result.id or nil
    end
    if rc ~= OK then
        rc, err = settle(rc, self, body)
        if rc ~= OK then
            return nil, err
        end
    end
    return preread and whole() or streamed(self)
end


-- 1 when the connection went to the pool; 2, "connection must be closed" when it could not be kept
-- and is closed; nil, err. The object has no connection afterwards.
function _M.set_keepalive(self, timeout, pool_size)
    local r, err = here()
    if not r then
        return nil, err
    end

    local id = self._nhfc_id
    if not id then
        return nil, "closed"
    end
    local rc = C.nhfc_keepalive(r, id, idle(timeout), size(pool_size), result)
    if rc == ERROR then
        if result.id ~= id then
            self._nhfc_id = nil
        end
        return nil, error_text()
    end

    self._nhfc_id = nil
    if rc == OK then
        return 1
    end
    return 2, "connection must be closed"
end


-- Also ends what another light thread of the same request waits for on this object.
function _M.close(self)
    local r, err = here()
    if not r then
        return nil, err
    end

    local id = self._nhfc_id
    if not id then
        return nil, "closed"
    end

    local rc = C.nhfc_close(r, id, result)
    if rc == ERROR and result.id == id then
        return nil, error_text()
    end
    self._nhfc_id, self._nhfc_waiting = nil, nil
    if rc == ERROR then
        return nil, error_text()
    end
    return 1
end


-- How often the connection had been used before this object got it: 0 for a new one.
function _M.get_reused_times(self)
    if not self._nhfc_id then
        return nil, "closed"
    end
    return self._nhfc_reused or 0
end


-- { scheme, host, port, path, query }, the query inside the path unless the second argument is
-- false, as in lua-resty-http.
function _M.parse_uri(_, uri, query_in_path)
    local scheme, host, port, path, query = parse(uri)
    if not scheme then
        return nil, host
    end
    if query_in_path ~= false then
        return { scheme, host, port, query ~= "" and path .. "?" .. query or path }
    end
    return { scheme, host, port, path, query }
end

-- { pools = { name → what it has }, total = … } of this worker.
_M.stats = stats.stats


return _M
