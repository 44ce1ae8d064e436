-- Names that Lua looks up: the function given to set_resolver, called when there is a connection to be
-- made to a name. Addresses and paths never get here.

local ffi = require "ffi"
local cdef = require "resty.ngx_http_ffi_client.cdef"
local request = require "resty.ngx_http_ffi_client.request"

local C = ffi.C
local call = request.call
local ffi_new = ffi.new
local ffi_str = ffi.string
local get_request = require("resty.core.base").get_request
local pcall = pcall
local rawget = rawget
local tostring = tostring
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
        return nil, "the resolver function failed: " .. tostring(found)
    end
    if type(found) == "string" then
        found = { found }
    elseif type(found) ~= "table" then
        return nil, err ~= nil and tostring(err)
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
    if owner then
        owner._nhfc_id, owner._nhfc_waiting = id, id
    end

    local n, err = addresses(name)

    if owner and owner._nhfc_waiting == id then
        owner._nhfc_waiting = nil
    end
    if not n then
        C.nhfc_cancel(get_request(), id)
        if owner and owner._nhfc_id == id then
            owner._nhfc_id = nil
        end
        return ERROR, err
    end

    local rc = C.nhfc_names(get_request(), id, list, n, result)
    anchor = nil
    if rc == ERROR and owner and owner._nhfc_id == id then
        owner._nhfc_id = nil
    end
    return rc
end


return _M
