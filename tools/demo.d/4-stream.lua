local client = require "resty.ngx_http_ffi_client"
local httpc = assert(client.new())
assert(httpc:connect({ scheme = "http", host = "127.0.0.1", port = tonumber(ngx.var.upstream) }))
local res = assert(httpc:request({ path = "/events" }))
ngx.update_time()
local start = ngx.now()
for piece in res.body_reader do
    ngx.update_time()
    ngx.say(string.format("%4d ms  %s", (ngx.now() - start) * 1000, piece))
    ngx.flush(true)
end
httpc:close()
