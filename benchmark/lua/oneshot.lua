local client = require "resty.ngx_http_ffi_client"

return function(port)
    local res, err = client.request_uri({
        scheme = "http", host = "127.0.0.1", port = port,
        path = "/", method = "GET",
        keepalive = { pool_size = 200, idle_timeout = 60000 },
    })
    if not res then
        return nil, err
    end
    if res.status ~= 200 then
        return nil, "status " .. res.status
    end
    return res.body
end
