-- Response headers and trailers: a plain table whose keys are the names as the peer sent them, and
-- one metatable for all of them. Only a look-up in another spelling costs more than a table access.

local byte = string.byte
local find = string.find
local gsub = string.gsub
local lower = string.lower
local next = next
local rawget = rawget
local rawset = rawset
local setmetatable = setmetatable
local sub = string.sub
local type = type

local HTAB, SP = 9, 32

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


local function is_blank(b)
    return b == SP or b == HTAB
end


-- Where the value between two places begins and ends without the blanks around it. Tail calls and
-- no loops here and below: a trace that meets a compiled loop is given up, a compiled function is
-- linked to.
local function value_start(bytes, at, stop)
    if at <= stop and is_blank(byte(bytes, at)) then
        return value_start(bytes, at + 1, stop)
    end
    return at
end


local function value_stop(bytes, at, start)
    if at >= start and is_blank(byte(bytes, at)) then
        return value_stop(bytes, at - 1, start)
    end
    return at
end


-- Puts the lines from `at` on into `t`; a name that differs in case only goes under its first
-- spelling, which `seen` remembers. Rust has let nothing pass but `name:value CRLF`: no name with a
-- colon, no value with a line end, no folded line.
local function put_lines(t, seen, bytes, at)
    local colon = find(bytes, ":", at, true)
    if not colon then
        return t
    end

    local line_end = find(bytes, "\r\n", colon, true)
    local name = sub(bytes, at, colon - 1)
    local small = lower(name)
    local first = seen[small]
    if not first then
        first = name
        seen[small] = name
    end

    local start = value_start(bytes, colon + 1, line_end - 1)
    put(t, first, sub(bytes, start, value_stop(bytes, line_end - 1, start)))
    return put_lines(t, seen, bytes, line_end + 2)
end


-- Adds the lines of a section.
function _M.add(t, section)
    put_lines(t, {}, section, 1)
end


-- The lines of a response head, behind its status line; none without a head.
function _M.of_head(head)
    local t = {}
    local line_end = head and find(head, "\r\n", 1, true)
    if line_end then
        put_lines(t, {}, head, line_end + 2)
    end
    setmetatable(t, mt)                 -- not as a tail call: that is not compiled
    return t
end


-- What stands behind the status code; often empty.
function _M.reason(head)
    local line_end = find(head, "\r\n", 1, true)
    local text = line_end and sub(head, #"HTTP/1.1 200 " + 1, line_end - 1) or ""
    return text
end


return _M
