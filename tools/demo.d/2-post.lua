local client = require "resty.ngx_http_ffi_client"
local res = assert(client.request_uri({
    host = "127.0.0.1", port = tonumber(ngx.var.upstream),
    method = "POST", path = "/echo", body = "token=abc",
    headers = { ["Content-Type"] = "application/x-www-form-urlencoded" },
}))
ngx.say(res.status, " ", res.body)
