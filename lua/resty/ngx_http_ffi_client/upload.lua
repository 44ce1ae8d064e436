-- Request bodies that an iterator gives piece by piece: pieces are asked for by Rust, one at a time,
-- when there is a connection for them and room.

local ffi = require "ffi"
local cdef = require "resty.ngx_http_ffi_client.cdef"
local handle = require "resty.ngx_http_ffi_client.handle"
local request = require "resty.ngx_http_ffi_client.request"

local C = ffi.C
local busy = handle.busy
local cancel = handle.cancel
local get_request = require("resty.core.base").get_request
local idle = handle.idle
local lost = handle.lost
local number_text = request.number_text
local pcall = pcall
local text_of = request.text_of
local type = type

local ERROR = cdef.ERROR


local _M = {}


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
-- While the iterator runs, which may wait, the object is busy.
function _M.feed(result, owner, body)
    local id = result.id
    busy(owner, id)
    local piece, err = next_piece(body)
    idle(owner, id)
    if piece == nil then
        cancel(owner, id)
        return ERROR, err
    end

    local rc
    if piece then
        rc = C.nhfc_supply(get_request(), id, piece, #piece, 0, result)
    else
        rc = C.nhfc_supply(get_request(), id, nil, 0, 1, result)
    end
    if rc == ERROR then
        lost(owner, id)
    end
    return rc
end


return _M
