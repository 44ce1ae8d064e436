-- What the pools of this worker have, and what has been counted: docs/lua-api.md.

local ffi = require "ffi"
local cdef = require "resty.ngx_http_ffi_client.cdef"

local C = ffi.C
local ffi_new = ffi.new
local ffi_str = ffi.string
local load = cdef.load

local ERROR = cdef.ERROR
local OK = cdef.OK


local _M = {}

local row = ffi_new("nhfc_pool")


-- Adds what `row` has. A pool may be called like the origin of another.
local function add(entry)
    entry = entry or { idle = 0, busy = 0, waiting = 0, opened = 0, reused = 0, closed = {} }
    entry.idle = entry.idle + row.idle
    entry.busy = entry.busy + row.busy
    entry.waiting = entry.waiting + row.waiting
    entry.opened = entry.opened + row.opened
    entry.reused = entry.reused + row.reused
    local closed = entry.closed
    for i = 0, row.nclosed - 1 do
        local count = row.closed[i]
        local reason = ffi_str(count.name.p, count.name.n)
        closed[reason] = (closed[reason] or 0) + count.n
    end
    return entry
end


function _M.stats()
    local ok, err = load()
    if not ok then
        return nil, err
    end

    local pools, place = {}, 0
    while true do
        local rc = C.nhfc_stats(place, row)
        if rc == ERROR then
            return nil, "internal error"
        end
        if rc ~= OK then
            return { pools = pools, total = add() }
        end
        local name = ffi_str(row.name.p, row.name.n)
        pools[name] = add(pools[name])
        place = row.next
    end
end


return _M
