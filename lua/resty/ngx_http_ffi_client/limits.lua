-- What one response may cost: the option `limits`. It lowers what the nhfc_max_ directives allow and
-- never raises it, which Rust sees to.

local request = require "resty.ngx_http_ffi_client.request"

local floor = math.floor
local rawget = rawget
local type = type

local call = request.call

-- The largest uint32_t: a bound that lowers nothing. (The largest body is a matter of 2^53 bytes.)
local UNBOUND, UNBOUND_BODY = 4294967295, 9007199254740992


local _M = {}


local function bound(limits, name, unbound)
    local value = rawget(limits, name)
    if value == nil then
        return unbound
    end
    if type(value) ~= "number" or not (value >= 0) then
        return nil, "limits." .. name .. " must be a number of at least 0"
    end
    return value < unbound and floor(value) or unbound
end


-- Writes them into the call, which is to be made with the flag LIMITED. true, or nil, err. (`rawget`
-- and not an index: no metamethod runs while the struct is half filled.)
function _M.put_limits(limits)
    if type(limits) ~= "table" then
        return nil, "limits must be a table, not " .. type(limits)
    end

    local head, head_err = bound(limits, "header_size", UNBOUND)
    local lines, lines_err = bound(limits, "header_lines", UNBOUND)
    local interim, interim_err = bound(limits, "interim_responses", UNBOUND)
    local extensions, extensions_err = bound(limits, "chunk_extension_size", UNBOUND)
    local trailers, trailers_err = bound(limits, "trailer_size", UNBOUND)
    local body, body_err = bound(limits, "body_size", UNBOUND_BODY)
    local err = head_err or lines_err or interim_err or extensions_err or trailers_err or body_err
    if err then
        return nil, err
    end

    call.max_head, call.max_lines, call.max_interim = head, lines, interim
    call.max_extensions, call.max_trailers, call.max_body = extensions, trailers, body
    return true
end


return _M
