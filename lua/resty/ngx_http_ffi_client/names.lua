-- Names that Lua looks up: the function given to set_resolver, called when there is a connection to be
-- made to a name. Addresses and paths never get here.

local ffi = require "ffi"
local cdef = require "resty.ngx_http_ffi_client.cdef"
local handle = require "resty.ngx_http_ffi_client.handle"
local request = require "resty.ngx_http_ffi_client.request"

local C = ffi.C
local busy = handle.busy
local call = request.call
local cancel = handle.cancel
local ffi_new = ffi.new
local ffi_str = ffi.string
local get_request = require("resty.core.base").get_request
local idle = handle.idle
local lost = handle.lost
local pcall = pcall
local rawget = rawget
local text_of = request.text_of
local type = type

local ERROR = cdef.ERROR

-- As many as Rust takes.
local MOST = 64


local _M = {}

-- C sees bare pointers: what they point into is held in `anchor`.
local hook, anchor
local list = ffi_new("nhfc_str[?]", MOST)


function _M.set(fn)
    if fn ~= nil and type(fn) ~= "function" then
        return nil, "the resolver must be a function, not " .. type(fn)
    end
    hook = fn
    call.hook = fn and 1 or 0
    return true
end


-- Puts the function's answer into `list`; how many addresses there are, or nil, err.
local function addresses(name)
    if not hook then
        return nil, "no resolver defined"           -- taken back while the name was waiting
    end

    local ok, found, err = pcall(hook, name)
    if not ok then
        return nil, "the resolver function failed: " .. text_of(found)
    end
    if type(found) == "string" then
        found = { found }
    elseif type(found) ~= "table" then
        return nil, err ~= nil and text_of(err)
                    or "the resolver function must give an address or an array of these, not "
                       .. type(found)
    end

    local n = #found
    if n > MOST then
        n = MOST
    end
    for i = 1, n do
        local address = rawget(found, i)
        if type(address) ~= "string" then
            return nil, "the resolver function must give addresses as strings, not " .. type(address)
        end
        list[i - 1].p = address
        list[i - 1].n = #address
    end
    anchor = found
    return n
end


-- Has the function look up the name that `result` asks for, and hands the answer to the exchange,
-- which is answered like the call that began it; or ERROR and why, and nothing is left of it.
function _M.look_up(result, owner)
    local id, name = result.id, ffi_str(result.body.p, result.body.n)
    busy(owner, id)
    local n, err = addresses(name)
    idle(owner, id)
    if not n then
        cancel(owner, id)
        return ERROR, err
    end

    local rc = C.nhfc_names(get_request(), id, list, n, result)
    anchor = nil
    if rc == ERROR then
        lost(owner, id)
    end
    return rc
end


return _M
