-- What the scripted lifecycle tests do inside nginx: a light thread waits in a certain state, and the test ends it
-- in a certain way. Arguments come in the query: `peer` and `full` are ports, `id` names the scene and its cue.
--
-- Every thread that goes on behind its wait logs "resumed ID".

local client = require "resty.ngx_http_ffi_client"

local cues = ngx.shared.cues
local spawn, kill = ngx.thread.spawn, ngx.thread.kill

local _M = {}


local function log(...)
    ngx.log(ngx.WARN, ...)
end


-- Waits until the test has said so.
local function await(cue)
    while not cues:get(cue) do
        ngx.sleep(0.002)
    end
end


function _M.cue()
    cues:set(ngx.var.arg_name, true)
    ngx.say("ok")
end


local function connect(a, port)
    return a.object:connect("127.0.0.1", port or a.peer)
end


local function ask(a, stop, params)
    assert(connect(a))
    params = params or {}
    params.path = "/" .. stop .. "/" .. a.id
    return a.object:request(params)
end


local function read_pieces(res)
    local parts = {}
    repeat
        local piece, err = res.body_reader(777)
        parts[#parts + 1] = piece
        if err then
            return nil, err
        end
    until not piece
    return table.concat(parts)
end


local function fetch(port, path, params)
    params = params or {}
    params.host, params.port, params.path = "127.0.0.1", port, path
    local res, err = client.request_uri(params)
    if not res then
        return nil, err
    end
    return res.body
end


-- Each waits in the state it is named after and returns what came of it.
local states = {
    connecting = function(a) return connect(a, a.full) end,
    connecting_one_shot = function(a) return fetch(a.full, "/") end,
    sending = function(a) return ask(a, "unread", { method = "POST", body = string.rep("x", 16 * 1024 * 1024) }) end,
    head = function(a) return ask(a, "silent") end,
    half_head = function(a) return ask(a, "half-head") end,
    body = function(a) return read_pieces(assert(ask(a, "half-body"))) end,
    first_piece = function(a) return read_pieces(assert(ask(a, "head"))) end,
    whole_body = function(a) return assert(ask(a, "half-body")):read_body() end,
    preread_body = function(a) return ask(a, "half-body", { preread_body = true }) end,
    one_shot = function(a) return fetch(a.peer, "/half-body/" .. a.id) end,
    one_shot_kept = function(a) return fetch(a.peer, "/silent/" .. a.id, { keepalive = {} }) end,
    held = function(a)
        assert(ask(a, "full")):read_body()
        await(a.id .. "-held")
    end,
}


local function arguments()
    local a = ngx.req.get_uri_args()
    a.peer, a.full, a.timeout = tonumber(a.peer), tonumber(a.full), tonumber(a.timeout)
    a.object = client.new()
    if a.timeout then
        a.object:set_timeout(a.timeout)
    end
    return a
end


local function work(a)
    local result, err = states[a.state](a)
    log("resumed ", a.id, " ", result and "ok" or err)
end


-- The ways.

-- The main thread waits.
function _M.wait()
    work(arguments())
    ngx.say("went on")
end


-- The main thread waits, another ends the request.
function _M.exit()
    local a = arguments()
    spawn(function()
        await(a.id)
        log("exits ", a.id)
        ngx.exit(200)
    end)
    work(a)
end


-- Another thread waits, the main thread ends the request.
function _M.exit_main()
    local a = arguments()
    spawn(work, a)
    await(a.id)
    log("exits ", a.id)
    ngx.exit(200)
end


-- The waiting thread is killed; the request goes on until it gets another cue.
function _M.kill()
    local a = arguments()
    local thread = spawn(work, a)
    await(a.id)
    ngx.say(kill(thread))
    log("killed ", a.id)
    if a.close then
        ngx.say(a.object:close())
    end
    await(a.id .. "-end")
    if a.again then
        ngx.say(a.object:connect("127.0.0.1", a.peer))
        ngx.say(#assert(a.object:request({ path = "/full/again" })):read_body())
    end
end


-- Objects that are dropped.
local drops = {
    connected = function(a) return connect(a) end,
    unread = function(a) return ask(a, "full") end,
    half_read = function(a) return assert(ask(a, "half-body")).body_reader(10) end,
    read = function(a) return assert(ask(a, "full")):read_body() end,
    failed = function(a) return connect(a, a.full) end,
}


function _M.drop()
    local a = arguments()
    assert(drops[a.state](a))
    ngx.exit(204)
end


-- Dropped inside a timer, which ends with the cue. (What a timer needs is passed to it: some builds of LuaJIT clear
-- the variables of a thread that ended by ngx.exit under the closures that still use them.)
local function drop_later(_, a)
    assert(drops[a.state](a))
    log("dropped ", a.id)
    a.object = nil
    collectgarbage()
    await(a.id)
    log("timer ends ", a.id)
end


function _M.drop_in_timer()
    assert(ngx.timer.at(0, drop_later, arguments()))
    ngx.exit(204)
end


-- A timer that waits.
local function work_later(_, a)
    work(a)
end


function _M.timer()
    assert(ngx.timer.at(0, work_later, arguments()))
    ngx.exit(204)
end


-- The body of one response, got in each of the ways there are.
function _M.body()
    local a = arguments()
    local path = a.path
    local function request(params)
        assert(connect(a))
        params.path = path
        local res = assert(a.object:request(params))
        local body = params.preread_body and res.body or read_pieces(res)
        assert(a.object:set_keepalive(a.idle and tonumber(a.idle)))
        return body
    end
    local body, err
    if a.by == "one_shot" then
        body, err = fetch(a.peer, path)
    elseif a.by == "kept" then
        body, err = fetch(a.peer, path, { keepalive = { idle_timeout = a.idle and tonumber(a.idle) } })
    elseif a.by == "preread" then
        body, err = request({ preread_body = true })
    else
        body, err = request({})
    end
    ngx.header.content_length = body and #body
    ngx.print(body or "failed: " .. err)
end


-- Reads a body that has come already, as far as there was room for it: all of the rest is received while the reader
-- is about to wait.
function _M.late()
    local a = arguments()
    local res = assert(ask(a, "large"))
    ngx.sleep(0.05)
    local body, err = res:read_body()
    ngx.header.content_length = body and #body
    ngx.print(body or "failed: " .. err)
end


-- Asks again where more than the response has come.
function _M.surplus()
    local a = arguments()
    assert(read_pieces(assert(ask(a, "surplus"))))
    local res, err = a.object:request({ path = "/full/second" })
    ngx.say(res and res:read_body() or err)
end


-- Connects until that fails, and says how often it did not and why it did.
function _M.use_up()
    local a = arguments()
    local held = {}
    for i = 1, 1000 do
        local object = client.new()
        local ok, err = object:connect("127.0.0.1", a.peer)
        if not ok then
            return ngx.say(i - 1, " ", err)
        end
        held[i] = object
    end
    ngx.say("never")
end




return _M
