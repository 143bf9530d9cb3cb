"""The signatures of the environment's functions, one overload a line: `name(args) -> result`.

A method is written `target:name(args) -> result`. Operators have their names of the abstract syntax. What repeats for
many types is made in `declarations`.
Sources: dra-semantics §4.2, cel-go `common/stdlib` and `ext`, k/apiserver `pkg/cel/library`.
"""

_OPERATORS = """
_?_:_(bool, A, A) -> A
_&&_(bool, bool) -> bool
_||_(bool, bool) -> bool
!_(bool) -> bool
@not_strictly_false(bool) -> bool
_==_(A, A) -> bool
_!=_(A, A) -> bool
_+_(bytes, bytes) -> bytes
_+_(double, double) -> double
_+_(duration, duration) -> duration
_+_(duration, timestamp) -> timestamp
_+_(timestamp, duration) -> timestamp
_+_(int, int) -> int
_+_(list(A), list(A)) -> list(A)
_+_(string, string) -> string
_+_(uint, uint) -> uint
_-_(double, double) -> double
_-_(duration, duration) -> duration
_-_(int, int) -> int
_-_(timestamp, duration) -> timestamp
_-_(timestamp, timestamp) -> duration
_-_(uint, uint) -> uint
_*_(double, double) -> double
_*_(int, int) -> int
_*_(uint, uint) -> uint
_/_(double, double) -> double
_/_(int, int) -> int
_/_(uint, uint) -> uint
_%_(int, int) -> int
_%_(uint, uint) -> uint
-_(double) -> double
-_(int) -> int
_[_](list(A), int) -> A
_[_](map(A, B), A) -> B
_[_](optional(list(V)), int) -> optional(V)
_[_](optional(map(K, V)), K) -> optional(V)
_[?_](list(V), int) -> optional(V)
_[?_](optional(list(V)), int) -> optional(V)
_[?_](map(K, V), K) -> optional(V)
_[?_](optional(map(K, V)), K) -> optional(V)
@in(A, list(A)) -> bool
@in(A, map(A, B)) -> bool
"""

_STANDARD = """
size(bytes) -> int
size(list(A)) -> int
size(map(A, B)) -> int
size(string) -> int
bytes:size() -> int
list(A):size() -> int
map(A, B):size() -> int
string:size() -> int
type(A) -> type(A)
bool(bool) -> bool
bool(string) -> bool
bytes(bytes) -> bytes
bytes(string) -> bytes
double(double) -> double
double(int) -> double
double(string) -> double
double(uint) -> double
duration(duration) -> duration
duration(string) -> duration
dyn(A) -> dyn
int(int) -> int
int(double) -> int
int(duration) -> int
int(string) -> int
int(timestamp) -> int
int(uint) -> int
string(string) -> string
string(bool) -> string
string(bytes) -> string
string(double) -> string
string(duration) -> string
string(int) -> string
string(timestamp) -> string
string(uint) -> string
timestamp(timestamp) -> timestamp
timestamp(int) -> timestamp
timestamp(string) -> timestamp
uint(uint) -> uint
uint(double) -> uint
uint(int) -> uint
uint(string) -> uint
string:contains(string) -> bool
string:endsWith(string) -> bool
string:startsWith(string) -> bool
matches(string, string) -> bool
string:matches(string) -> bool
duration:getHours() -> int
duration:getMinutes() -> int
duration:getSeconds() -> int
duration:getMilliseconds() -> int
"""

_STRINGS = """
string:charAt(int) -> string
string:indexOf(string) -> int
string:indexOf(string, int) -> int
string:lastIndexOf(string) -> int
string:lastIndexOf(string, int) -> int
string:lowerAscii() -> string
string:upperAscii() -> string
string:replace(string, string) -> string
string:replace(string, string, int) -> string
string:split(string) -> list(string)
string:split(string, int) -> list(string)
string:substring(int) -> string
string:substring(int, int) -> string
string:trim() -> string
string:format(list(dyn)) -> string
strings.quote(string) -> string
list(string):join() -> string
list(string):join(string) -> string
string:find(string) -> string
string:findAll(string) -> list(string)
string:findAll(string, int) -> list(string)
"""

_LISTS = """
list(T):slice(int, int) -> list(T)
list(list(T)):flatten() -> list(T)
list(dyn):flatten(int) -> list(dyn)
lists.range(int) -> list(int)
list(T):reverse() -> list(T)
list(T):distinct() -> list(T)
list(T):indexOf(T) -> int
list(T):lastIndexOf(T) -> int
list(V):first() -> optional(V)
list(V):last() -> optional(V)
sets.contains(list(T), list(T)) -> bool
sets.equivalent(list(T), list(T)) -> bool
sets.intersects(list(T), list(T)) -> bool
cel.@mapInsert(map(K, V), K, V) -> map(K, V)
cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V)
"""

_OPTIONALS = """
optional.of(V) -> optional(V)
optional.ofNonZeroValue(V) -> optional(V)
optional.none() -> optional(V)
optional(V):value() -> V
optional(V):hasValue() -> bool
optional(V):or(optional(V)) -> optional(V)
optional(V):orValue(V) -> V
optional.unwrap(list(optional(V))) -> list(V)
list(optional(V)):unwrapOpt() -> list(V)
"""

_KUBERNETES = """
dyn:includes(dyn) -> bool
quantity(string) -> kubernetes.Quantity
isQuantity(string) -> bool
sign(kubernetes.Quantity) -> int
kubernetes.Quantity:isGreaterThan(kubernetes.Quantity) -> bool
kubernetes.Quantity:isLessThan(kubernetes.Quantity) -> bool
kubernetes.Quantity:compareTo(kubernetes.Quantity) -> int
kubernetes.Quantity:asApproximateFloat() -> double
kubernetes.Quantity:asInteger() -> int
kubernetes.Quantity:isInteger() -> bool
kubernetes.Quantity:add(kubernetes.Quantity) -> kubernetes.Quantity
kubernetes.Quantity:add(int) -> kubernetes.Quantity
kubernetes.Quantity:sub(kubernetes.Quantity) -> kubernetes.Quantity
kubernetes.Quantity:sub(int) -> kubernetes.Quantity
semver(string) -> kubernetes.Semver
semver(string, bool) -> kubernetes.Semver
isSemver(string) -> bool
isSemver(string, bool) -> bool
kubernetes.Semver:isGreaterThan(kubernetes.Semver) -> bool
kubernetes.Semver:isLessThan(kubernetes.Semver) -> bool
kubernetes.Semver:compareTo(kubernetes.Semver) -> int
kubernetes.Semver:major() -> int
kubernetes.Semver:minor() -> int
kubernetes.Semver:patch() -> int
url(string) -> kubernetes.URL
isURL(string) -> bool
kubernetes.URL:getScheme() -> string
kubernetes.URL:getHost() -> string
kubernetes.URL:getHostname() -> string
kubernetes.URL:getPort() -> string
kubernetes.URL:getEscapedPath() -> string
kubernetes.URL:getQuery() -> map(string, list(string))
ip(string) -> net.IP
isIP(string) -> bool
ip.isCanonical(string) -> bool
string(net.IP) -> string
net.IP:family() -> int
net.IP:isUnspecified() -> bool
net.IP:isLoopback() -> bool
net.IP:isLinkLocalMulticast() -> bool
net.IP:isLinkLocalUnicast() -> bool
net.IP:isGlobalUnicast() -> bool
cidr(string) -> net.CIDR
isCIDR(string) -> bool
string(net.CIDR) -> string
net.CIDR:containsIP(string) -> bool
net.CIDR:containsIP(net.IP) -> bool
net.CIDR:containsCIDR(string) -> bool
net.CIDR:containsCIDR(net.CIDR) -> bool
net.CIDR:ip() -> net.IP
net.CIDR:prefixLength() -> int
net.CIDR:masked() -> net.CIDR
kubernetes.NamedFormat:validate(string) -> optional(list(string))
format.named(string) -> optional(kubernetes.NamedFormat)
"""

_AUTHORIZATION = """
A.Authorizer:path(string) -> A.PathCheck
A.Authorizer:group(string) -> A.GroupCheck
A.Authorizer:serviceAccount(string, string) -> A.Authorizer
A.GroupCheck:resource(string) -> A.ResourceCheck
A.ResourceCheck:subresource(string) -> A.ResourceCheck
A.ResourceCheck:namespace(string) -> A.ResourceCheck
A.ResourceCheck:name(string) -> A.ResourceCheck
A.ResourceCheck:fieldSelector(string) -> A.ResourceCheck
A.ResourceCheck:labelSelector(string) -> A.ResourceCheck
A.PathCheck:check(string) -> A.Decision
A.ResourceCheck:check(string) -> A.Decision
A.Decision:errored() -> bool
A.Decision:error() -> string
A.Decision:allowed() -> bool
A.Decision:reason() -> string
""".replace("A.", "kubernetes.authorization.")

FORMATS = (
    "dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix",
    "dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime",
)  # fmt: skip

SIGNATURES = (_OPERATORS, _STANDARD, _STRINGS, _LISTS, _OPTIONALS, _KUBERNETES, _AUTHORIZATION)
