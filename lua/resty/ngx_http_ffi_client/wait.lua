-- Where a call may run, and how its light thread waits for Rust: on a semaphore of ngx_lua that
-- Rust owns and posts to. The result struct of this VM lives here too.

local bit = require "bit"
local ffi = require "ffi"
local cdef = require "resty.ngx_http_ffi_client.cdef"
local handle = require "resty.ngx_http_ffi_client.handle"
local names = require "resty.ngx_http_ffi_client.names"
local upload = require "resty.ngx_http_ffi_client.upload"

local C = ffi.C
local band = bit.band
local busy = handle.busy
local cancel = handle.cancel
local feed = upload.feed
local ffi_new = ffi.new
local ffi_str = ffi.string
local idle = handle.idle
local load = cdef.load
local look_up = names.look_up
local lost = handle.lost

local AGAIN = cdef.AGAIN
local ERROR = cdef.ERROR
local NAME = cdef.NAME
local OK = cdef.OK
local WANTS = cdef.WANTS
local ERR_SIZE = 256


local _M = {}

-- These two declare ngx_http_lua_ffi_get_phase and ngx_http_lua_ffi_sema_wait.
require "resty.core.phase"
require "ngx.semaphore"

-- Called again wherever the request is needed: a pointer that is alive while a thread waits would
-- have to be boxed.
local get_request = require("resty.core.base").get_request
_M.get_request = get_request

local co_yield = coroutine._yield       -- ngx_lua's own, which reaches the scheduler

local result = ffi_new("nhfc_result")
_M.result = result

local err_text = ffi_new("unsigned char[?]", ERR_SIZE)
local err_size = ffi_new("size_t[1]")
local phase_err = ffi_new("char *[1]")

-- Whether Rust was told that we can wait without a semaphore.
local asked = false

-- The phases as ngx_lua numbers them, and those in which it lets a light thread wait.
local PHASES = {
    [0x0001] = "set_by_lua*", [0x0002] = "rewrite_by_lua*", [0x0004] = "access_by_lua*",
    [0x0008] = "content_by_lua*", [0x0010] = "log_by_lua*", [0x0020] = "header_filter_by_lua*",
    [0x0040] = "body_filter_by_lua*", [0x0080] = "ngx.timer", [0x0100] = "init_worker_by_lua*",
    [0x0200] = "balancer_by_lua*", [0x0400] = "ssl_certificate_by_lua*",
    [0x0800] = "ssl_session_store_by_lua*", [0x1000] = "ssl_session_fetch_by_lua*",
    [0x2000] = "exit_worker_by_lua*", [0x4000] = "ssl_client_hello_by_lua*",
    [0x8000] = "server_rewrite_by_lua*",
}
local YIELDABLE = 0x0002 + 0x0004 + 0x0008 + 0x0080 + 0x0400 + 0x1000 + 0x4000 + 0x8000


-- The request this code runs for, in any phase: for calls that never wait. Or nil, err.
function _M.here()
    local r = get_request()
    if not r then
        return nil, "no request: API disabled in the context of init_by_lua*"
    end
    return r
end


-- true where the nginx module is there and the phase can wait; or nil, err.
function _M.enter()
    local ok, err = load()
    if not ok then
        return nil, err
    end

    local r = get_request()
    if not r then
        return nil, "no request: API disabled in the context of init_by_lua*"
    end

    local phase = C.ngx_http_lua_ffi_get_phase(r, phase_err)
    if phase < 0 or band(phase, YIELDABLE) == 0 then
        -- Worded as ngx_lua words it for cosockets.
        return nil, "API disabled in the context of " .. (PHASES[phase] or "an unknown phase")
    end
    if not asked then
        asked = true
        C.nhfc_plain_yield()            -- from now on replies may come without a semaphore
    end
    return true
end


-- Waits until Rust posts, or where it gave no semaphore (ngx_lua 0.10.29 and later), resumes us.
-- 2147483647 ms is "for ever": Rust keeps the timeouts. true, or nil, err when waiting was not
-- possible.
local function sleep()
    if result.sema == nil then
        co_yield()
        return true
    end

    err_size[0] = ERR_SIZE
    local rc = C.ngx_http_lua_ffi_sema_wait(get_request(), result.sema, 2147483647,
                                            err_text, err_size)
    if rc == AGAIN then
        co_yield()
        return true
    end
    if rc == OK then                    -- posted between our call and this one
        return true
    end
    return nil, rc == ERROR and ffi_str(err_text, err_size[0]) or "waiting failed"
end
_M.sleep = sleep


-- (Here and elsewhere no tail call of a built-in function: LuaJIT does not compile the return.)
local function error_text()
    local text = ffi_str(result.error.p, result.error.n)
    return text
end
_M.error_text = error_text


-- Carries what nhfc_fetch, nhfc_connect or nhfc_request began to its end; `rc` is what that call
-- returned. OK, or ERROR and the text.
--
-- `owner` is the client object that gets the new handle, if any (see handle.lua). `body` is the
-- iterator that gives the request's body, if it is one.
local function settle(rc, owner, body)
    if rc == OK then
        return OK
    end
    if rc == WANTS then
        local err
        rc, err = feed(result, owner, body)
        if err then
            return ERROR, err
        end
        return settle(rc, owner, body)
    end
    if rc == NAME then
        local err
        rc, err = look_up(result, owner)
        if err then
            return ERROR, err
        end
        return settle(rc, owner, body)
    end
    if rc ~= AGAIN then
        return ERROR, error_text()
    end

    local id = result.id
    busy(owner, id)
    local ok, err = sleep()
    idle(owner, id)
    if not ok then
        cancel(owner, id)
        return ERROR, err
    end

    rc = C.nhfc_collect(get_request(), id, result)
    if rc == ERROR then
        lost(owner, id)
    end
    return settle(rc, owner, body)      -- no loop, see request.lua
end
_M.settle = settle


return _M
