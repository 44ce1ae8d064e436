-- What several test files use inside nginx. It is found where NhfcTest sets the lua_package_path.

local _M = {}


-- Comes back when f() is true.
function _M.wait_for(f)
    for _ = 1, 1000 do
        if f() then
            return
        end
        ngx.sleep(0.005)
    end
    error("waited in vain", 2)
end


-- Lets a peer at /raw that takes turns (see NhfcUpstream) send its next piece.
function _M.turn()
    assert(ngx.shared.upstream:incr("turns", 1, 0))
end


-- Waits for that.
function _M.wait_for_turn()
    local upstream = ngx.shared.upstream
    _M.wait_for(function() return (upstream:get("turns") or 0) > 0 end)
    assert(upstream:incr("turns", -1))
end


-- An iterator that gives what it was given.
function _M.iterator(...)
    local pieces, i = { ... }, 0
    return function()
        i = i + 1
        return pieces[i]
    end
end


-- The rest of what a peer does with a client on `sock`: of up to `most` bytes it logs how many came, and why no more.
function _M.log_rest(sock, most)
    sock:settimeout(3000)
    local _, err, got = sock:receive(most)
    ngx.log(ngx.WARN, "peer: ", err, " after ", #got)
end


return _M
