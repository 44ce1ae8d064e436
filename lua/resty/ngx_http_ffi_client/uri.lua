-- Taking a URI apart (RFC 3986, http and https only). Without patterns on purpose: LuaJIT compiles
-- plain string.find, sub and byte.

local byte = string.byte
local find = string.find
local lower = string.lower
local pcall = pcall
local sub = string.sub
local tonumber = tonumber
local tostring = tostring
local type = type


local _M = {}


local function current_scheme()
    return ngx.var.scheme
end


-- "//host/path" takes the scheme of the request being served (RFC 3986, 4.2), where there is one.
local function inherited_scheme()
    local ok, scheme = pcall(current_scheme)
    if ok and (scheme == "http" or scheme == "https") then
        return scheme
    end
    return nil, "bad uri: schemaless URIs require a request context"
end


-- Scheme and the index behind "//", or nil, err.
local function take_scheme(uri)
    if sub(uri, 1, 2) == "//" then
        local scheme, err = inherited_scheme()
        return scheme, scheme and 3 or err
    end

    local mark = find(uri, "://", 1, true)
    if not mark then
        return nil, "bad uri: no scheme"
    end

    local scheme = lower(sub(uri, 1, mark - 1))
    if scheme ~= "http" and scheme ~= "https" then
        return nil, "bad uri: the scheme is neither http nor https"
    end
    return scheme, mark + 3
end


local function take_port(text, default)
    if text == "" then
        return default
    end

    local port = #text <= 5 and tonumber(text)
    if not port or port < 1 or port > 65535
       -- tonumber takes more than digits; the pattern is for leading zeros only.
       or (tostring(port) ~= text and find(text, "%D"))
    then
        return nil, "bad uri: port"
    end
    return port
end


-- Host and port of "host", "host:port", "[v6]" or "[v6]:port"; the brackets stay.
local function take_authority(authority, scheme)
    -- What stands before "@" looks like a host to people and is not one (RFC 9110, 4.2.4); "\" is
    -- a "/" to some parsers, so two of them would not agree on the host.
    if find(authority, "@", 1, true) or find(authority, "\\", 1, true) then
        return nil, "bad uri: user information and backslashes are not allowed in it"
    end

    local colon
    if byte(authority, 1) == 91 then                     -- "["
        local close = find(authority, "]", 1, true)
        if not close then
            return nil, "bad uri: host"
        end
        colon = close + 1
        if colon <= #authority and byte(authority, colon) ~= 58 then
            return nil, "bad uri: host"
        end
    else
        colon = find(authority, ":", 1, true) or #authority + 1
    end

    local host = sub(authority, 1, colon - 1)
    if host == "" or host == "[]" then
        return nil, "bad uri: host"
    end

    local port, err = take_port(sub(authority, colon + 1), scheme == "https" and 443 or 80)
    if not port then
        return nil, err
    end
    return host, port
end


-- scheme, host, port, path, query; query is "" when there is none. Or nil, err; err never holds
-- the URI, which may carry secrets.
function _M.parse(uri)
    if type(uri) ~= "string" then
        return nil, "bad uri: not a string"
    end

    -- A fragment is the caller's own (RFC 3986, 3.5), and must go first: "http://h#@x/" means h.
    local hash = find(uri, "#", 1, true)
    if hash then
        uri = sub(uri, 1, hash - 1)
    end

    local scheme, from = take_scheme(uri)
    if not scheme then
        return nil, from
    end

    local path, query = "/", ""
    local tail = find(uri, "?", from, true)
    if tail then
        query = sub(uri, tail + 1)
    else
        tail = #uri + 1
    end

    local slash = find(uri, "/", from, true)
    if slash and slash < tail then
        path = sub(uri, slash, tail - 1)
        tail = slash
    end

    local host, port = take_authority(sub(uri, from, tail - 1), scheme)
    if not host then
        return nil, port
    end
    return scheme, host, port, path, query
end


return _M
