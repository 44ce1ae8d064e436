package NhfcTest;

# Defaults of this project's test files: "use NhfcTest;" after "use Test::Nginx::Socket 'no_plan';".
# Works with the small runner beside this file and with OpenResty's Test::Nginx alike.
#
# - http_config gets the lua_package_path of this checkout and its tests, unless it has one of its own. The same
#   path is there as $TEST_NGINX_LUA_PATH.
# - A block without "--- no_error_log" gets one for [alert], [crit], [emerg] and "exited on signal", less the
#   severities that its "--- error_log" or "--- grep_error_log" names or that make its "--- must_die".
# - $TEST_NGINX_HTML_DIR is the directory of "--- user_files".

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);

my $root = abs_path(dirname(__FILE__) . '/../..');
$ENV{TEST_NGINX_LUA_PATH} ||= "$root/lua/?.lua;$root/t/lib/?.lua;/usr/share/lua/5.1/?.lua;;";
$ENV{TEST_NGINX_HTML_DIR} ||= Test::Nginx::Socket::html_dir();

Test::Nginx::Socket::add_block_preprocessor(sub {
    my ($block) = @_;
    my $http = $block->http_config // '';
    if ($http !~ /\blua_package_path\b/) {
        $block->set_value(http_config => "    lua_package_path \"$ENV{TEST_NGINX_LUA_PATH}\";\n$http");
    }
    if (!defined $block->no_error_log) {
        my @wanted = map { ref eq 'ARRAY' ? @$_ : $_ // '' } scalar $block->error_log, scalar $block->grep_error_log;
        my @unwanted = grep { my $text = $_; !grep { index($_, $text =~ s/\]//r) >= 0 } @wanted }
            '[alert]', '[crit]', defined $block->must_die ? () : '[emerg]', 'exited on signal';
        $block->set_value(no_error_log => \@unwanted);
    }
    return;
});

1;
