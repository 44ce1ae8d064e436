-- Response headers and trailers: a plain table whose keys are the names as the peer sent them, and
-- one metatable for all of them. Only a look-up in another spelling costs more than a table access.

local ffi = require "ffi"
require "resty.ngx_http_ffi_client.cdef"

local ffi_cast = ffi.cast
local ffi_str = ffi.string
local find = string.find
local gsub = string.gsub
local lower = string.lower
local next = next
local rawget = rawget
local rawset = rawset
local setmetatable = setmetatable
local sub = string.sub
local type = type

local ok, new_tab = pcall(require, "table.new")
if not ok then
    new_tab = function() return {} end
end

local LINE_SIZE = tonumber(ffi.sizeof("nhfc_line"))


local _M = {}


-- Field names are compared without regard to case (RFC 9110, 5.1); "_" stands for "-" because it
-- is what a Lua identifier can hold.
local function fold(name)
    if find(name, "_", 1, true) then
        return (gsub(name, "_", "-"))
    end
    return name
end


-- The key under which `t` holds `name`, or nil. Folding keeps the length, so most keys are ruled
-- out by it. A key that differs in case only wins over one that differs in "_" and "-" too.
local function spelling(t, name)
    local length, small = #name, lower(name)
    local folded, second = fold(small), nil

    for key in next, t, nil do
        if type(key) == "string" and #key == length then
            local k = lower(key)
            if k == small then
                return key
            end
            if fold(k) == folded then
                second = key
            end
        end
    end

    return second
end


local mt = {
    __index = function(t, name)
        if type(name) == "string" then
            local key = spelling(t, name)
            if key then
                return t[key]
            end
        end
        return nil
    end,

    -- Only called for a key that is not there in this spelling: writing never makes a second one.
    __newindex = function(t, name, value)
        if type(name) == "string" then
            rawset(t, spelling(t, name) or name, value)
        else
            rawset(t, name, value)
        end
    end,
}


-- Puts a value under its name. A name that comes again has an array of its values, in the order
-- received.
local function put(t, name, value)
    local old = rawget(t, name)
    if old == nil then
        rawset(t, name, value)
    elseif type(old) == "table" then
        old[#old + 1] = value
    else
        rawset(t, name, { old, value })
    end
end


-- Puts lines[i] to lines[n - 1], places in `bytes`, into `t`; a name that differs in case only goes
-- under its first spelling, which `seen` remembers. A tail call and no loop: a trace that meets a
-- compiled loop is given up, a compiled function is linked to.
local function put_lines(t, seen, lines, bytes, i, n)
    if i == n then
        return t
    end

    local line = lines[i]
    local name = sub(bytes, line.name + 1, line.name_end)
    local small = lower(name)
    local first = seen[small]
    if not first then
        first = name
        seen[small] = name
    end
    put(t, first, sub(bytes, line.value + 1, line.value_end))
    return put_lines(t, seen, lines, bytes, i + 1, n)
end


-- Adds `n` lines that are in Rust's memory still.
function _M.add(t, head, lines, n)
    put_lines(t, {}, lines, ffi_str(head.p, head.n), 0, n)
end


-- Most callers read no header, and a table of them costs more than the rest of a response does. So
-- the lines are kept as two strings until somebody looks: the section's bytes, and where in them
-- the lines lie. nil when there are none.
function _M.pack(head, lines, n)
    if n == 0 then
        return nil
    end
    return ffi_str(head.p, head.n), ffi_str(lines, n * LINE_SIZE)
end


function _M.unpack(bytes, packed)
    local t = {}
    if bytes then
        local n = #packed / LINE_SIZE
        local lines = ffi_cast("const nhfc_line *", packed)
        t = put_lines(new_tab(0, n), {}, lines, bytes, 0, n)
    end
    setmetatable(t, mt)                 -- not as a tail call: that is not compiled
    return t
end


return _M
