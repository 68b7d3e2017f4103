# Shared by the tests of the Android layer that take packages from Maven Central, after jdk.sh. They get
#     jars android     what fetch.sh brought, all but Android's classes, for the classpath; and these
# A test ends here if a package is another than expected; it is skipped if they cannot be fetched.
sh "$tests/jni/maven/fetch.sh" "$build/maven" >"$tmp/fetched" 2>&1
status=$?
case $status in
0) ;;
3) skip all "$(tail -n 1 "$tmp/fetched")" ;;
*) bad fetch "$(tail -n 3 "$tmp/fetched")" ;;
esac
[ $status -eq 0 ] || { finish; exit; }
maven=$(cd "$build/maven" && pwd)
android= jars=
for jar in "$maven"/*.jar; do
    case ${jar##*/} in
    android-all-instrumented*) ;;
    android-all*) android=$jar ;;
    *) jars=$jars:$jar ;;
    esac
done
jars=${jars#:}
