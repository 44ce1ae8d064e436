-- lua-resty-http needs lua-resty-string for the digest of a client certificate only; Debian has no package of it.
if not pcall(require, "resty.string") then
    package.preload["resty.string"] = function()
        return { to_hex = function() error("lua-resty-string is not installed") end }
    end
end

local http = require "resty.http"

return function(port)
    local res, err = http.new():request_uri("http://127.0.0.1:" .. port .. "/", {
        method = "GET", keepalive_timeout = 60000, keepalive_pool = 200,
    })
    if not res then
        return nil, err
    end
    if res.status ~= 200 then
        return nil, "status " .. res.status
    end
    return res.body
end
