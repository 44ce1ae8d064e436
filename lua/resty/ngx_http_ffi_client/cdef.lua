-- The C side of the boundary: declarations, codes, and whether the nginx module is there.
-- Required in the http subsystem only.

local ffi = require "ffi"

local C = ffi.C
local pcall = pcall
local tonumber = tonumber
local format = string.format


local _M = {
    ABI = 2,

    OK = 0,
    ERROR = -1,
    AGAIN = -2,
    WANTS = 2,
    NAME = 3,

    -- nhfc_call.flags
    WHOLE = 1,
    KEEPALIVE = 2,
    LIMITED = 4,
    PIECES = 8,
    TRACE = 16,

    -- nhfc_result.flags
    HAS_BODY = 1,
    ENDED = 2,

    -- Largest value of an int32_t: what longer times and sizes are cut to.
    INT_MAX = 2147483647,
}


-- A file that is loaded twice in one VM (package.loaded cleared) meets the types of its first run,
-- and C types can not be declared twice.
if not pcall(ffi.typeof, "nhfc_call") then
    require "resty.core.base"       -- ngx_http_request_t

    ffi.cdef[[
    typedef struct { const char *p; size_t n; } nhfc_str;

    typedef struct {
        nhfc_str   name;
        nhfc_str   value;
    } nhfc_field;

    typedef struct {
        nhfc_str           scheme, host, pool;
        nhfc_str           method, path, query, body;
        const nhfc_field  *fields;
        uint32_t           nfields;
        uint32_t           flags;
        uint32_t           port;
        uint32_t           hook;
        int32_t            connect_ms, send_ms, read_ms;
        int32_t            expect_ms;
        int32_t            total_ms;
        int32_t            idle_ms;
        int32_t            pool_size, backlog;
        int32_t            life_requests, life_ms;
        uint32_t           max_head, max_lines, max_interim;
        uint32_t           max_extensions, max_trailers;
        uint64_t           max_body;
    } nhfc_call;

    typedef struct {
        double             id;
        void              *sema;
        nhfc_str           error;
        nhfc_str           body;
        nhfc_str           head, tail;
        int32_t            status;
        uint32_t           flags;
        uint32_t           reused;
    } nhfc_result;

    typedef struct {
        nhfc_str           name;
        double             n;
    } nhfc_count;

    typedef struct {
        nhfc_str           name;
        double             next;
        double             opened, reused;
        const nhfc_count  *closed;
        uint32_t           nclosed;
        uint32_t           idle, busy, waiting;
    } nhfc_pool;

    uint32_t nhfc_abi(void);
    int nhfc_plain_yield(void);
    int nhfc_fetch(ngx_http_request_t *r, const nhfc_call *c, nhfc_result *out);
    int nhfc_connect(ngx_http_request_t *r, const nhfc_call *c, nhfc_result *out);
    int nhfc_request(ngx_http_request_t *r, double id, const nhfc_call *c,
        nhfc_result *out);
    int nhfc_supply(ngx_http_request_t *r, double id, const char *piece, size_t n,
        int end, nhfc_result *out);
    int nhfc_names(ngx_http_request_t *r, double id, const nhfc_str *list,
        uint32_t n, nhfc_result *out);
    int nhfc_collect(ngx_http_request_t *r, double id, nhfc_result *out);
    int nhfc_read(ngx_http_request_t *r, double id, size_t max,
        nhfc_result *out);
    int nhfc_read_all(ngx_http_request_t *r, double id, nhfc_result *out);
    int nhfc_keepalive(ngx_http_request_t *r, double id, int32_t idle_ms,
        int32_t pool_size, nhfc_result *out);
    int nhfc_close(ngx_http_request_t *r, double id, nhfc_result *out);
    int nhfc_timeouts(ngx_http_request_t *r, double id, int32_t connect_ms,
        int32_t send_ms, int32_t read_ms, nhfc_result *out);
    int nhfc_cancel(ngx_http_request_t *r, double id);
    int nhfc_stats(double place, nhfc_pool *out);
    ]]
end


-- Whether a dynamic module is loaded can only be asked by its symbols: ffi.C throws for a name
-- that no loaded object exports.
local function abi()
    return tonumber(C.nhfc_abi())
end


local loaded = false


-- true, or nil and what the administrator has to do. A worker can not gain a module later, but a
-- missing one is rare enough not to be remembered.
function _M.load()
    if loaded then
        return true
    end

    local ok, found = pcall(abi)
    if not ok then
        return nil, "ngx_http_ffi_client_module is not loaded: put \"load_module "
                    .. "modules/ngx_http_ffi_client_module.so;\" at the top of nginx.conf "
                    .. "(with the path of the file) and restart nginx"
    end

    if found ~= _M.ABI then
        -- A reload keeps the old shared object: the master still holds it, and its symbols are
        -- found first.
        return nil, format("ngx_http_ffi_client_module has ABI %d, these Lua files need ABI %d: "
                           .. "install both from one version, then restart nginx or upgrade it "
                           .. "in place (USR2); a reload is not enough", found, _M.ABI)
    end

    loaded = true
    return true
end


return _M
