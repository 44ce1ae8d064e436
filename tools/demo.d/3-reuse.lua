local client = require "resty.ngx_http_ffi_client"
for _, path in ipairs { "/hello?name=one", "/hello?name=two" } do
    local httpc = assert(client.new())
    assert(httpc:connect({ scheme = "http", host = "127.0.0.1", port = tonumber(ngx.var.upstream) }))
    local res = assert(httpc:request({ path = path }))
    ngx.say(res:read_body(), ", connection reused ", httpc:get_reused_times(), " times")
    assert(httpc:set_keepalive())
end
