-- Request bodies that an iterator gives piece by piece: pieces are asked for by Rust, one at a time,
-- when there is a connection for them and room.

local ffi = require "ffi"
local cdef = require "resty.ngx_http_ffi_client.cdef"
local request = require "resty.ngx_http_ffi_client.request"

local C = ffi.C
local get_request = require("resty.core.base").get_request
local number_text = request.number_text
local pcall = pcall
local tostring = tostring
local type = type

local ERROR = cdef.ERROR


local _M = {}


-- What an error says. It may be any value, and its metatable may throw.
local function text_of(err)
    local ok, text = pcall(tostring, err)
    return ok and type(text) == "string" and text or type(err)
end


-- The iterator's next piece as a string, false at its end; nil, err.
local function next_piece(body)
    local ok, piece, err = pcall(body)
    if not ok then
        return nil, "the request body iterator failed: " .. text_of(piece)
    end

    local kind = type(piece)
    if kind == "string" then
        return piece
    elseif kind == "number" then
        return number_text(piece)
    elseif err ~= nil then
        return nil, text_of(err)
    elseif kind == "nil" then
        return false
    end
    return nil, "the request body iterator must give strings or numbers, not " .. kind
end


-- Hands the next piece to the exchange that `result` names, which is answered like the call that
-- began it; or ERROR and what was wrong with the iterator, and nothing is left of the exchange.
--
-- While the iterator runs, which may wait, the object stays marked as busy.
function _M.feed(result, owner, body)
    local id = result.id
    if owner then
        owner._nhfc_id, owner._nhfc_waiting = id, id
    end

    local piece, err = next_piece(body)

    if owner and owner._nhfc_waiting == id then
        owner._nhfc_waiting = nil
    end
    if piece == nil then
        C.nhfc_cancel(get_request(), id)
        if owner and owner._nhfc_id == id then
            owner._nhfc_id = nil
        end
        return ERROR, err
    end

    local rc
    if piece then
        rc = C.nhfc_supply(get_request(), id, piece, #piece, 0, result)
    else
        rc = C.nhfc_supply(get_request(), id, nil, 0, 1, result)
    end
    if rc == ERROR and owner and owner._nhfc_id == id then
        owner._nhfc_id = nil
    end
    return rc
end


return _M
