-- Who holds which handle, while something is under way for it. A client object has the handle of its
-- connection in `_nhfc_id`; while a light thread waits or calls the caller's own code for it,
-- `_nhfc_waiting` is the same, so that another thread finds the object busy or can close it. What an
-- object holds is touched again only where it still is that handle. A request without an object has
-- no `owner`.

local C = require("ffi").C
local get_request = require("resty.core.base").get_request


local _M = {}


-- From here on a thread waits for what `id` names.
function _M.busy(owner, id)
    if owner then
        owner._nhfc_id, owner._nhfc_waiting = id, id
    end
end


-- It waits no longer.
function _M.idle(owner, id)
    if owner and owner._nhfc_waiting == id then
        owner._nhfc_waiting = nil
    end
end


-- What `id` named has failed, and its connection with it.
local function lost(owner, id)
    if owner and owner._nhfc_id == id then
        owner._nhfc_id = nil
    end
end
_M.lost = lost


-- Ends what `id` names: it cannot be gone on with.
function _M.cancel(owner, id)
    C.nhfc_cancel(get_request(), id)
    lost(owner, id)
end


return _M
