package NhfcUpstream;

# An upstream inside the nginx under test, for blocks that need more connections than the one that
# "--- tcp_listen" serves: "use NhfcUpstream;" after "use NhfcTest;". A block without "--- request" asks for /t.
#
# It listens on 127.0.0.1:$TEST_NGINX_RAND_PORT_1 and, as another origin, on $TEST_NGINX_RAND_PORT_2:
#
#   /connection  "2:3": the third request on the second connection that was used since nginx started
#   /raw         the arguments named "piece" as they are, "pause" ms apart, then a close; with "turns" each but the
#                first waits for require("nhfc").turn(); with "hold" the upstream leaves closing to the client and logs
#                "upstream: client closed", or "upstream: client sent more"
#   /silent      nothing for 2 s, and the body of the request is not read; logs "upstream: client closed"
#   any other    the request as it came: head and body
#
# "use NhfcUpstream qw(deaf);" also gives $TEST_NGINX_DEAF_PORT, where a connection request is never answered.

use strict;
use warnings;

use Fcntl qw(F_SETFL O_NONBLOCK);
use Socket qw(AF_INET INADDR_LOOPBACK SOCK_STREAM pack_sockaddr_in unpack_sockaddr_in);

my @deaf;

my $upstream = <<'CONF';
    lua_shared_dict upstream 1m;
    server {
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1;
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_2;
        keepalive_requests 100000;
        client_body_buffer_size 1m;
        location / {
            content_by_lua_block {
                ngx.req.read_body()
                local text = ngx.req.raw_header() .. (ngx.req.get_body_data() or "")
                ngx.header.content_length = #text
                ngx.print(text)
            }
        }
        location = /connection {
            content_by_lua_block {
                local seen, key = ngx.shared.upstream, ngx.var.connection
                local number = seen:get(key) or seen:incr("connections", 1, 0)
                seen:set(key, number)
                local text = number .. ":" .. ngx.var.connection_requests
                ngx.header.content_length = #text
                ngx.print(text)
            }
        }
        location = /raw {
            content_by_lua_block {
                local args = ngx.req.get_uri_args()
                local pieces = args.piece
                if type(pieces) ~= "table" then
                    pieces = { pieces }
                end
                local socket = assert(ngx.req.socket(true))
                for i, piece in ipairs(pieces) do
                    if i > 1 and args.turns then
                        require("nhfc").wait_for_turn()
                    elseif i > 1 then
                        ngx.sleep((tonumber(args.pause) or 10) / 1000)
                    end
                    socket:send(piece)
                end
                if args.hold then
                    socket:settimeout(2000)
                    local byte, err = socket:receive(1)
                    ngx.log(ngx.WARN, "upstream: client ", byte and "sent more" or err)
                end
            }
        }
        location = /silent {
            lua_check_client_abort on;
            content_by_lua_block {
                ngx.on_abort(function()
                    ngx.log(ngx.WARN, "upstream: client closed")
                    ngx.exit(499)
                end)
                ngx.sleep(2)
            }
        }
    }
CONF

Test::Nginx::Socket::add_block_preprocessor(sub {
    my ($block) = @_;
    $block->set_value(http_config => $upstream . ($block->http_config // ''));
    if (!grep { defined } map { scalar $block->$_ } qw(request raw_request pipelined_requests must_die)) {
        $block->set_value(request => 'GET /t');
    }
    return;
});

sub import {
    my ($class, @wanted) = @_;
    deafen() if grep { $_ eq 'deaf' } @wanted;
    return;
}

# The kernel does not answer while as many connections as were asked for wait to be accepted.
sub deafen {
    socket my $listener, AF_INET, SOCK_STREAM, 0 or die "socket: $!";
    bind $listener, pack_sockaddr_in(0, INADDR_LOOPBACK) or die "bind: $!";
    listen $listener, 0 or die "listen: $!";
    my $address = getsockname $listener;
    push @deaf, $listener;
    for (1 .. 4) {
        socket my $filler, AF_INET, SOCK_STREAM, 0 or die "socket: $!";
        fcntl $filler, F_SETFL, O_NONBLOCK or die "fcntl: $!";
        connect $filler, $address;
        push @deaf, $filler;
    }
    ($ENV{TEST_NGINX_DEAF_PORT}) = unpack_sockaddr_in($address);
    return;
}

1;
