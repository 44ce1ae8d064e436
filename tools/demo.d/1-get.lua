local client = require "resty.ngx_http_ffi_client"
local res = assert(client.request_uri({
    scheme = "http", host = "127.0.0.1", port = tonumber(ngx.var.upstream),
    path = "/hello", query = { name = "world" }, headers = { ["X-Trace"] = "1" },
}))
ngx.say(res.status, " ", res.headers["content-type"], " ", res.body)
