/* Defaults of the programs in the sanitizer build; see meson.build. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
