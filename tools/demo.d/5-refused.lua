local client = require "resty.ngx_http_ffi_client"
local res, err = client.request_uri({ host = "127.0.0.1", port = tonumber(ngx.var.nobody) })
ngx.say(tostring(res), ", ", err)
