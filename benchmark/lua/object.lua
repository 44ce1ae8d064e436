local client = require "resty.ngx_http_ffi_client"

return function(port)
    local httpc, err = client.new()
    if not httpc then
        return nil, err
    end
    local ok
    ok, err = httpc:connect({ scheme = "http", host = "127.0.0.1", port = port, pool_size = 200 })
    if not ok then
        return nil, err
    end
    local res
    res, err = httpc:request({ method = "GET", path = "/" })
    if not res then
        return nil, err
    end
    local body
    body, err = res:read_body()
    if not body then
        return nil, err
    end
    ok, err = httpc:set_keepalive(60000, 200)
    if not ok then
        return nil, err
    end
    if res.status ~= 200 then
        return nil, "status " .. res.status
    end
    return body
end
