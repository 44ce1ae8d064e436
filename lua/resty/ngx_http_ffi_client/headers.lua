-- Response headers and trailers: a plain table whose keys are the names as the peer sent them, and
-- one metatable for all of them. Only a look-up in another spelling costs more than a table access.

local ffi = require "ffi"

local ffi_str = ffi.string
local find = string.find
local gsub = string.gsub
local lower = string.lower
local next = next
local rawset = rawset
local setmetatable = setmetatable
local type = type

local ok, new_tab = pcall(require, "table.new")
if not ok then
    new_tab = function() return {} end
end


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


-- A name that came again: its values become an array, in the order received, under the first
-- spelling.
local function again(t, first, value)
    local key = ffi_str(first.name.p, first.name.n)
    local old = t[key]
    if type(old) == "table" then
        old[#old + 1] = value
    else
        rawset(t, key, { old, value })
    end
end


-- Copies the fields from `i` to `n` - 1 out of Rust's memory into `t`. A tail call and no loop: a
-- trace that meets a compiled loop is given up, a compiled function is linked to.
local function fill(t, fields, i, n)
    if i == n then
        return t
    end

    local field = fields[i]
    local value = ffi_str(field.value.p, field.value.n)
    if field.first == i then
        rawset(t, ffi_str(field.name.p, field.name.n), value)
    else
        again(t, fields[field.first], value)
    end
    return fill(t, fields, i + 1, n)
end


function _M.fill(t, fields, n)
    fill(t, fields, 0, n)
end


function _M.new(fields, n)
    local t = fill(new_tab(0, n), fields, 0, n)
    setmetatable(t, mt)                 -- not as a tail call: that is not compiled
    return t
end


function _M.empty()
    return setmetatable({}, mt)
end


return _M
