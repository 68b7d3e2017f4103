/* test_json_cases.c - qnnrt_json.h on cases, and on deep nesting

   Each text is read in a block of exactly its size, so that the sanitizers find a read past its end.
   slow_json.h is the reference for every case and every prefix of it. */
#include "../../qnnrt_json.h"
#include "slow_json.h"
#include "test.h"

/* JSON texts that a strict reader accepts or refuses, and at which byte, written for this project from RFC 8259 and the
   manual of qnnrt_json.h: one case for each way in which a text can be right or wrong. RIGHT(name, text): the text is a
   document. WRONG(name, text, at): it is not, and byte `at` is the first that cannot follow the bytes before it; of an
   escape, a UTF-8 sequence and a word, its first byte. The name describes the case. Nesting is not in the list. */
typedef struct json_case { const char *name, *text; size_t bytes; int right; size_t at; } json_case;

#define RIGHT(name, text)     { name, text, sizeof(text) - 1, 1, 0 },
#define WRONG(name, text, at) { name, text, sizeof(text) - 1, 0, at },

static const json_case json_cases[] = {
    /* documents */
    RIGHT("documents: a word alone", "true")
    RIGHT("documents: false alone", "false")
    RIGHT("documents: null alone", "null")
    RIGHT("documents: a whole number alone", "7")
    RIGHT("documents: a negative fraction alone", "-12.75")
    RIGHT("documents: a string alone", "\"tensor\"")
    RIGHT("documents: an empty string alone", "\"\"")
    RIGHT("documents: a blank in a string alone", "\" \"")
    RIGHT("documents: an empty array alone", "[]")
    RIGHT("documents: an empty object alone", "{}")
    RIGHT("documents: a newline after the document", "[\"x\"]\n")
    WRONG("documents: no byte at all", "", 0)
    WRONG("documents: blanks only", " \t\r\n", 4)
    WRONG("documents: one blank", " ", 1)
    WRONG("documents: two arrays", "[][]", 2)
    WRONG("documents: an object, then a string", "{\"a\": false} \"b\"", 13)
    WRONG("documents: an array closed twice", "[7]]", 3)
    WRONG("documents: an array of strings closed twice", "[\"x\"]]", 5)
    WRONG("documents: an object closed twice", "{}}", 2)
    WRONG("documents: a closing bracket alone", "]", 0)
    WRONG("documents: a closing brace alone", "}", 0)
    WRONG("documents: a number, then a bracket", "7]", 1)
    WRONG("documents: a letter after an array", "[7]z", 3)
    WRONG("documents: a letter after a string", "\"\"z", 2)
    WRONG("documents: a sign after a number", "7@", 1)
    WRONG("documents: a comma after the document", "[\"x\"],", 5)
    WRONG("documents: a hash after an object", "{\"a\": \"b\"}#", 10)
    WRONG("documents: a hash and braces after an object", "{\"a\": \"b\"}#{}", 10)
    WRONG("documents: a bare word", "tensor", 0)
    WRONG("documents: one letter", "z", 0)
    WRONG("documents: a star alone", "*", 0)
    WRONG("documents: an angle bracket", "<.>", 0)
    WRONG("documents: a letter that is not ASCII, alone", "\xC3\xA9", 0)
    WRONG("documents: a word with such a letter", "z\xC3\xA9", 0)
    WRONG("documents: a broken UTF-8 byte alone", "\xE9", 0)
    WRONG("documents: a NUL after a number", "123\x00", 3)
    WRONG("documents: a NUL alone", "\x00", 0)
    /* blanks */
    RIGHT("blanks: each of the four blanks between all tokens",
          " \t\n\r[ \t\n\r7 \t\n\r, \t\n\r{ \t\n\r\"a\" \t\n\r: \t\n\rnull \t\n\r} \t\n\r] \t\n"
          "\r")
    RIGHT("blanks: before a document", "  [7]")
    RIGHT("blanks: after a document", "[7]  ")
    RIGHT("blanks: around an empty array", " [ ] ")
    RIGHT("blanks: in an empty object", "{ }")
    RIGHT("blanks: before a number", "[ 7]")
    RIGHT("blanks: before a string", "[ \"x\"]")
    RIGHT("blanks: a newline after a number", "[7\n]")
    RIGHT("blanks: newlines in an object", "{\n\"a\": \"b\"\n}")
    RIGHT("blanks: between two closing brackets", "[[]   ]")
    RIGHT("blanks: more than one word of eight",
          "[                                     7\n\n\n\n\n\n\n\n\n]")
    RIGHT("blanks: Windows line ends", "[\r\n  7\r\n]\r\n")
    WRONG("blanks: a form feed", "[\x0C]", 1)
    WRONG("blanks: a vertical tab", "[\x0B""7]", 1)
    WRONG("blanks: a form feed as an escape outside a string", "[\"x\"\\f]", 4)
    WRONG("blanks: a no-break space", "[\xC2\xA0""7]", 1)
    WRONG("blanks: a word joiner", "[\xE2\x81\xA0]", 1)
    WRONG("blanks: a line separator", "[7\xE2\x80\xA8]", 2)
    WRONG("blanks: a NUL between brackets", "[\x00]", 1)
    WRONG("blanks: a blank written as an escape", "[\\u0020\"x\"]", 1)
    WRONG("blanks: a newline written as an escape", "[\\u000A\"x\"]", 1)
    WRONG("blanks: an escape outside a string", "[\\n]", 1)
    /* words */
    RIGHT("words: the three words in an array", "[true,false,null]")
    RIGHT("words: a row of null", "[7,null,null,null,8]")
    RIGHT("words: the three words as members", "{\"a\":true,\"b\":false,\"c\":null}")
    WRONG("words: true cut short", "[tru]", 1)
    WRONG("words: false cut short", "[fals]", 1)
    WRONG("words: null cut short", "[nul]", 1)
    WRONG("words: true with a wrong letter", "[trua]", 1)
    WRONG("words: a word that goes on", "[\"x\", truth]", 6)
    WRONG("words: null that goes on", "[nulls]", 5)
    WRONG("words: a capital letter", "[True]", 1)
    WRONG("words: all capitals", "[NULL]", 1)
    WRONG("words: an unknown word", "[yes]", 1)
    WRONG("words: one letter in an array", "[z", 1)
    WRONG("words: a word in angle brackets", "[<null>]", 1)
    WRONG("words: NaN", "[NaN]", 1)
    WRONG("words: minus NaN", "[-NaN]", 2)
    WRONG("words: Inf", "[Inf]", 1)
    WRONG("words: Infinity", "[Infinity]", 1)
    WRONG("words: minus Infinity", "[-Infinity]", 2)
    WRONG("words: plus Inf", "[+Inf]", 1)
    WRONG("words: a word as a key", "{null:null,null:null}", 1)
    WRONG("words: a star in an array", "[*]", 1)
    /* numbers */
    RIGHT("numbers: zero, in an array", "[0]")
    RIGHT("numbers: minus zero, in an array", "[-0]")
    RIGHT("numbers: one digit, in an array", "[9]")
    RIGHT("numbers: a negative digit, in an array", "[-1]")
    RIGHT("numbers: many digits, in an array", "[9876543210]")
    RIGHT("numbers: a negative number, in an array", "[-321]")
    RIGHT("numbers: a fraction, in an array", "[3.25]")
    RIGHT("numbers: zeros after the point, in an array", "[1.000]")
    RIGHT("numbers: a zero before the point, in an array", "[0.5]")
    RIGHT("numbers: a small negative fraction, in an array",
          "[-0.0000000000000000000000000000000000000000000000000000000000000000000000001]")
    RIGHT("numbers: an exponent, in an array", "[12e3]")
    RIGHT("numbers: a signed exponent, in an array", "[12e+3]")
    RIGHT("numbers: a negative exponent, in an array", "[12e-3]")
    RIGHT("numbers: a capital E, in an array", "[12E3]")
    RIGHT("numbers: a capital E with a sign, in an array", "[12E+3]")
    RIGHT("numbers: a capital E with a minus, in an array", "[12E-3]")
    RIGHT("numbers: zero with an exponent, in an array", "[0e1]")
    RIGHT("numbers: zero with a signed exponent, in an array", "[0e+1]")
    RIGHT("numbers: a fraction and an exponent, in an array", "[12.5e30]")
    RIGHT("numbers: zeros in front of an exponent, in an array", "[1e0005]")
    RIGHT("numbers: an exponent of zero, in an array", "[5E0]")
    RIGHT("numbers: more than 64 bits, in an array", "[100000000000000000001]")
    RIGHT("numbers: a negative one with more than 64 bits, in an array",
          "[-98765432109876543210987654321]")
    RIGHT("numbers: 46 digits, in an array", "[-1234567890123456789012345678901234567890123456]")
    RIGHT("numbers: larger than any float64, in an array", "[2.5e+4000]")
    RIGHT("numbers: below any float64, in an array", "[-2e+4000]")
    RIGHT("numbers: larger by whole digits, in an array", "[54321e40000]")
    RIGHT("numbers: below by whole digits, in an array", "[-54321e40000]")
    RIGHT("numbers: smaller than any float64, in an array", "[54321e-4000000]")
    RIGHT("numbers: a fraction smaller than any float64, in an array", "[12.5e-800]")
    RIGHT("numbers: an exponent past 64 bits, in an array",
          "[0.3e00777777777777777777777777777777777777777777777777777777777777777777777777777777"
          "77]")
    RIGHT("numbers: numbers as members", "{ \"least\": -3.0e+38, \"most\": 3.0e+38 }")
    WRONG("numbers: a leading zero, in an array", "[012]", 2)
    WRONG("numbers: a leading zero after a minus, in an array", "[-012]", 3)
    WRONG("numbers: zero twice, in an array", "[00]", 2)
    WRONG("numbers: minus zero one, in an array", "[-01]", 3)
    WRONG("numbers: a plus, in an array", "[+1]", 1)
    WRONG("numbers: two pluses, in an array", "[++12]", 1)
    WRONG("numbers: a minus alone, in an array", "[-]", 2)
    WRONG("numbers: a minus and a blank, in an array", "[- 1]", 2)
    WRONG("numbers: a minus and a word, in an array", "[-foo]", 2)
    WRONG("numbers: a minus and a point, in an array", "[-.5]", 2)
    WRONG("numbers: a point first, in an array", "[.5]", 1)
    WRONG("numbers: a point, then a minus, in an array", "[.-1]", 1)
    WRONG("numbers: a point first, with an exponent, in an array", "[.2e-3]", 1)
    WRONG("numbers: nothing after the point, in an array", "[1.]", 3)
    WRONG("numbers: nothing after the point of a negative number, in an array", "[-2.]", 4)
    WRONG("numbers: an exponent right after the point, in an array", "[0.e1]", 3)
    WRONG("numbers: the same with a sign, in an array", "[2.e+3]", 3)
    WRONG("numbers: the same with a minus, in an array", "[2.e-3]", 3)
    WRONG("numbers: the same without one, in an array", "[2.e3]", 3)
    WRONG("numbers: a sign right after it, in an array", "[9.e+]", 3)
    WRONG("numbers: two points, in an array", "[0.1.2]", 4)
    WRONG("numbers: a point at the end, in an array", "[-1.0.]", 5)
    WRONG("numbers: nothing after e, in an array", "[0e]", 3)
    WRONG("numbers: nothing after E, in an array", "[0E]", 3)
    WRONG("numbers: nothing after e+, in an array", "[0e+]", 4)
    WRONG("numbers: nothing after E+, in an array", "[0E+]", 4)
    WRONG("numbers: a fraction, nothing after e, in an array", "[1.5e]", 5)
    WRONG("numbers: a fraction, nothing after e+, in an array", "[1.5e+]", 6)
    WRONG("numbers: a fraction, nothing after e-, in an array", "[1.5e-]", 6)
    WRONG("numbers: a fraction with a zero, nothing after e, in an array", "[0.3e]", 5)
    WRONG("numbers: a fraction with a zero, nothing after e+, in an array", "[0.3e+]", 6)
    WRONG("numbers: two exponents, in an array", "[1eE2]", 3)
    WRONG("numbers: two signs of an exponent, in an array", "[0e+-1]", 4)
    WRONG("numbers: a letter after e, in an array", "[1ea]", 3)
    WRONG("numbers: a fraction in an exponent, in an array", "[1e2.5]", 4)
    WRONG("numbers: hexadecimal, one digit, in an array", "[0x1]", 2)
    WRONG("numbers: hexadecimal, two digits, in an array", "[0x42]", 2)
    WRONG("numbers: a letter at the end, in an array", "[-1x]", 3)
    WRONG("numbers: a letter within, in an array", "[1.2a-3]", 4)
    WRONG("numbers: a letter for an exponent, in an array", "[1.75H-30]", 5)
    WRONG("numbers: a word at the end, in an array", "[-12.5foo]", 6)
    WRONG("numbers: a sum, in an array", "[1+2]", 2)
    WRONG("numbers: a blank within, in an array", "[1 000.0]", 3)
    WRONG("numbers: an underscore within, in an array", "[1_000]", 2)
    WRONG("numbers: a comma for the point, in an array", "[0,5,]", 5)
    WRONG("numbers: a suffix, in an array", "[1f]", 2)
    WRONG("numbers: a full-width digit, in an array", "[\xEF\xBC\x91]", 1)
    WRONG("numbers: a broken byte after an integer, in an array", "[0\xE5]", 2)
    WRONG("numbers: a broken byte after digits, in an array", "[123\xE5]", 4)
    WRONG("numbers: a broken byte after e, in an array", "[1e\xE5]", 3)
    WRONG("numbers: a broken byte after an exponent, in an array", "[1e1\xE5]", 4)
    WRONG("numbers: alone: a leading zero", "012", 1)
    WRONG("numbers: alone: a minus", "-", 1)
    WRONG("numbers: alone: nothing after the point", "1.", 2)
    WRONG("numbers: alone: nothing after e+", "1e+", 3)
    /* strings */
    RIGHT("strings: letters", "[\"tensor\"]")
    RIGHT("strings: a blank at the end", "[\"tensor \"]")
    RIGHT("strings: an empty one in an array", "[\"\"]")
    RIGHT("strings: what other places would read as comments", "[\"a/*b*/c//d#e\"]")
    RIGHT("strings: brackets, commas and colons", "[\"[{,:}]\"]")
    RIGHT("strings: DEL", "[\"\x7F\"]")
    RIGHT("strings: DEL between letters", "[\"a\x7F""b\"]")
    RIGHT("strings: more than two words of eight", "[\"abcdefghabcdefghabcdefghabcdefghabcdefgh\"]")
    WRONG("strings: a quote alone", "\"", 1)
    WRONG("strings: open at the end", "[\"abc]", 6)
    WRONG("strings: one quote and a letter", "[\"a", 3)
    WRONG("strings: single quotes", "['abc']", 1)
    WRONG("strings: a single quote alone", "['", 1)
    WRONG("strings: no quotes around a letter that is not ASCII", "[\xC3\xA9]", 1)
    WRONG("strings: a newline", "[\"a\nb\"]", 3)
    WRONG("strings: a tab", "[\"\t\"]", 2)
    WRONG("strings: a carriage return", "[\"\r\"]", 2)
    WRONG("strings: a NUL", "[\"a\x00""b\"]", 3)
    WRONG("strings: 0x1F", "[\"\x1F\"]", 2)
    WRONG("strings: a vertical tab", "[\"\x0B\"]", 2)
    WRONG("strings: a control character in the ninth byte", "[\"12345678\x01\"]", 10)
    WRONG("strings: a control character in a key", "{\"a\nb\":1}", 3)
    /* escapes */
    RIGHT("escapes: the eight short ones", "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]")
    RIGHT("escapes: a quote", "[\"\\\"\"]")
    RIGHT("escapes: a backslash, then a letter", "[\"\\\\a\"]")
    RIGHT("escapes: a backslash, then n", "[\"\\\\n\"]")
    RIGHT("escapes: a backslash, then what would be an escape", "[\"\\\\u0000\"]")
    RIGHT("escapes: NUL", "[\"\\u0000\"]")
    RIGHT("escapes: NUL in a key", "{\"a\\u0000b\": 7}")
    RIGHT("escapes: a control character", "[\"\\u0012\"]")
    RIGHT("escapes: a newline by number", "[\"a\\u000Ab\"]")
    RIGHT("escapes: a comma", "[\"\\u002c\"]")
    RIGHT("escapes: a quote by number", "[\"\\u0022\"]")
    RIGHT("escapes: a backslash by number", "[\"\\u005C\"]")
    RIGHT("escapes: small and capital digits", "[\"\\u00e9\\u00E9\\uAbCd\"]")
    RIGHT("escapes: of one, two and three bytes", "[\"\\u0060\\u012a\\u12AB\"]")
    RIGHT("escapes: a word", "[\"\\u0061\\u30af\\u30EA\\u30b9\"]")
    RIGHT("escapes: two bytes", "[\"\\u0123\"]")
    RIGHT("escapes: three bytes", "[\"\\u0821\"]")
    RIGHT("escapes: a no-break space", "[\"a\\u00A0b\"]")
    RIGHT("escapes: a zero-width space", "[\"\\u200B\"]")
    RIGHT("escapes: an invisible plus", "[\"\\u2064\"]")
    RIGHT("escapes: a noncharacter", "[\"\\uFDD0\"]")
    RIGHT("escapes: U+FFFE", "[\"\\uFFFE\"]")
    RIGHT("escapes: U+FFFF", "[\"\\uFFFF\"]")
    RIGHT("escapes: a letter of another script", "[\"\\uA66D\"]")
    RIGHT("escapes: text of escapes and blanks", "{\"t\":\"\\u041f\\u043e\\u043b\\u0435 \\u0432\"}")
    WRONG("escapes: nothing after the backslash", "[\"\\", 2)
    WRONG("escapes: a backslash before the last quote", "[\"\\\"]", 5)
    WRONG("escapes: an odd row of backslashes", "[\"\\\\\\\"]", 7)
    WRONG("escapes: a letter that is not one", "[\"\\a\"]", 2)
    WRONG("escapes: x", "[\"\\x00\"]", 2)
    WRONG("escapes: a single quote", "[\"\\'\"]", 2)
    WRONG("escapes: a digit", "[\"\\0\"]", 2)
    WRONG("escapes: a capital U", "\"\\UA66D\"", 1)
    WRONG("escapes: a NUL", "[\"\\\x00\"]", 2)
    WRONG("escapes: a tab", "[\"\\\t\"]", 2)
    WRONG("escapes: a newline", "[\"\\\n\"]", 2)
    WRONG("escapes: a letter that is not ASCII", "[\"\\\xC3\xA9\"]", 2)
    WRONG("escapes: an emoji", "[\"\\\xF0\x9F\x8C\x80\"]", 2)
    WRONG("escapes: a broken byte", "[\"\\\xE5\"]", 2)
    WRONG("escapes: u with three digits", "[\"\\u00A\"]", 2)
    WRONG("escapes: u with none", "[\"\\u\"]", 2)
    WRONG("escapes: u with a wrong digit", "[\"\\u00g0\"]", 2)
    WRONG("escapes: u with four wrong ones", "[\"\\uqqqq\"]", 2)
    WRONG("escapes: u with a sign", "[\"\\u+041\"]", 2)
    WRONG("escapes: u with a broken byte", "[\"\\u\xE5\"]", 2)
    WRONG("escapes: u with a blank", "[\"\\u 041\"]", 2)
    WRONG("escapes: u cut short by the end", "[\"\\u00", 2)
    WRONG("escapes: open after an escape, again and again", "[\"\\{[\"\\{[\"\\{", 2)
    /* surrogates */
    RIGHT("surrogates: a pair", "[\"\\uD801\\udc37\"]")
    RIGHT("surrogates: two pairs", "[\"\\ud83d\\ude39\\ud83d\\udc8d\"]")
    RIGHT("surrogates: the first pair", "[\"\\uD800\\uDC00\"]")
    RIGHT("surrogates: the last pair", "[\"\\uDBFF\\uDFFF\"]")
    RIGHT("surrogates: a noncharacter of plane 1", "[\"\\uD83F\\uDFFE\"]")
    RIGHT("surrogates: a noncharacter of plane 16", "[\"\\uDBFF\\uDFFE\"]")
    RIGHT("surrogates: capital and small digits", "[\"\\uD834\\uDd1e\"]")
    RIGHT("surrogates: a pair in a key", "{\"\\ud83d\\ude00\":1}")
    WRONG("surrogates: a first half alone", "[\"\\ud800\"]", 2)
    WRONG("surrogates: the same in capitals", "[\"\\uDADA\"]", 2)
    WRONG("surrogates: a first half and letters", "[\"\\ud800abc\"]", 2)
    WRONG("surrogates: a second half alone", "[\"\\uDFAA\"]", 2)
    WRONG("surrogates: a second half as a key", "{\"\\uDFAA\":0}", 2)
    WRONG("surrogates: a first half as a key", "{\"\\ud800\":0}", 2)
    WRONG("surrogates: a second half, then digits", "[\"\\uDd1ea\"]", 2)
    WRONG("surrogates: both in the wrong order", "[\"\\uDd1e\\uD834\"]", 2)
    WRONG("surrogates: two first halves", "[\"\\ud800\\ud800\"]", 2)
    WRONG("surrogates: two first halves, then an escape", "[\"\\uD800\\uD800\\n\"]", 2)
    WRONG("surrogates: two first halves, then a wrong escape", "[\"\\uD800\\uD800\\x\"]", 2)
    WRONG("surrogates: a first half and another letter", "[\"\\uD888\\u1234\"]", 2)
    WRONG("surrogates: a first half, then an escape", "[\"\\uD800\\n\"]", 2)
    WRONG("surrogates: a first half, then a backslash", "[\"\\uD800\\\"]", 2)
    WRONG("surrogates: a first half, then u", "[\"\\uD800\\u\"]", 2)
    WRONG("surrogates: a first half, then one digit", "[\"\\uD800\\u1\"]", 2)
    WRONG("surrogates: a first half, then a wrong digit", "[\"\\uD800\\u1x\"]", 2)
    WRONG("surrogates: a second half cut short", "[\"\\uD834\\uDd\"]", 2)
    WRONG("surrogates: a second half with a wrong digit", "[\"\\ud834\\uddg1\"]", 2)
    WRONG("surrogates: the text ends in the second half", "[\"\\uD834\\uDd1", 2)
    /* UTF-8 */
    RIGHT("UTF-8: two bytes", "[\"\xCF\x80\"]")
    RIGHT("UTF-8: three bytes", "[\"\xE2\x8D\x82\xE3\x88\xB4\"]")
    RIGHT("UTF-8: three and four bytes", "[\"\xE2\x82\xAC\xF0\x9D\x84\x9E\"]")
    RIGHT("UTF-8: in a key", "{\"\xF0\x9F\x87\xA8\":1}")
    RIGHT("UTF-8: the first of two, three and four bytes",
          "[\"\xC2\x80\xE0\xA0\x80\xF0\x90\x80\x80\"]")
    RIGHT("UTF-8: the last of two, three and four bytes",
          "[\"\xDF\xBF\xEF\xBF\xBF\xF4\x8F\xBF\xBF\"]")
    RIGHT("UTF-8: around the surrogates", "[\"\xED\x9F\xBF\xEE\x80\x80\"]")
    RIGHT("UTF-8: a line and a paragraph separator", "[\"\xE2\x80\xA8\xE2\x80\xA9\"]")
    RIGHT("UTF-8: a character that is not assigned", "[\"\xF0\x9B\xBF\xBF\"]")
    RIGHT("UTF-8: a byte order mark in a string", "[\"\xEF\xBB\xBF\"]")
    WRONG("UTF-8: 0xFF", "[\"\xFF\"]", 2)
    WRONG("UTF-8: 0xFE", "[\"\xFE\"]", 2)
    WRONG("UTF-8: Latin-1", "[\"\xE9\"]", 2)
    WRONG("UTF-8: a continuation byte alone", "[\"\x81\"]", 2)
    WRONG("UTF-8: a continuation byte in a key", "{\"\xB9\":\"0\",}", 2)
    WRONG("UTF-8: a wrong byte after valid ones", "[\"\xE6\x97\xA5\xD1\x88\xFA\"]", 7)
    WRONG("UTF-8: two bytes, the second missing", "[\"\xC3\"]", 2)
    WRONG("UTF-8: three bytes, the last missing", "[\"\xE2\x82\"]", 2)
    WRONG("UTF-8: three bytes, the second wrong", "[\"\xE0\xFF\"]", 2)
    WRONG("UTF-8: four bytes, the third wrong", "[\"\xF0\x9F(\x80\"]", 2)
    WRONG("UTF-8: four bytes, the last missing", "[\"\xF0\x9F\x98\"]", 2)
    WRONG("UTF-8: two bytes for a slash", "[\"\xC0\xAF\"]", 2)
    WRONG("UTF-8: two bytes for NUL", "[\"\xC0\x80\"]", 2)
    WRONG("UTF-8: 0xC1", "[\"\xC1\xBF\"]", 2)
    WRONG("UTF-8: three bytes where two do", "[\"\xE0\x9F\xBF\"]", 2)
    WRONG("UTF-8: four bytes where three do", "[\"\xF0\x8F\xBF\xBF\"]", 2)
    WRONG("UTF-8: a surrogate", "[\"\xED\xA0\x80\"]", 2)
    WRONG("UTF-8: the last surrogate", "[\"\xED\xBF\xBF\"]", 2)
    WRONG("UTF-8: past U+10FFFF", "[\"\xF4\x90\x80\x80\"]", 2)
    WRONG("UTF-8: far past it", "[\"\xF4\xBF\xBF\xBF\"]", 2)
    WRONG("UTF-8: 0xF5", "[\"\xF5\x80\x80\x80\"]", 2)
    WRONG("UTF-8: five bytes", "[\"\xF8\x88\x80\x80\x80\"]", 2)
    WRONG("UTF-8: six bytes", "[\"\xFC\x83\xBF\xBF\xBF\xBF\"]", 2)
    WRONG("UTF-8: six bytes for NUL", "[\"\xFC\x80\x80\x80\x80\x80\"]", 2)
    WRONG("UTF-8: outside a string", "[\xFF]", 1)
    WRONG("UTF-8: after a letter outside a string", "[a\xE5]", 1)
    WRONG("UTF-8: an emoji as a bare key", "{\xF0\x9F\x87\xA8}", 1)
    WRONG("UTF-8: the text ends within a sequence", "[\"\xE2\x82", 2)
    /* byte order marks and UTF-16 */
    RIGHT("byte order marks and UTF-16: UTF-8's, then an object", "\xEF\xBB\xBF{}")
    RIGHT("byte order marks and UTF-16: UTF-8's, then a blank", "\xEF\xBB\xBF [7]")
    WRONG("byte order marks and UTF-16: UTF-8's alone", "\xEF\xBB\xBF", 3)
    WRONG("byte order marks and UTF-16: UTF-8's, cut short", "\xEF\xBB{}", 0)
    WRONG("byte order marks and UTF-16: UTF-8's twice", "\xEF\xBB\xBF\xEF\xBB\xBF[]", 3)
    WRONG("byte order marks and UTF-16: UTF-8's in the text", "[\xEF\xBB\xBF""7]", 1)
    WRONG("byte order marks and UTF-16: UTF-16, little-endian, with a mark",
          "\xFF\xFE[\x00\"\x00x\x00\"\x00]\x00", 0)
    WRONG("byte order marks and UTF-16: UTF-16, big-endian, with a mark",
          "\xFE\xFF\x00[\x00""7\x00]", 0)
    WRONG("byte order marks and UTF-16: UTF-16, little-endian, without",
          "[\x00\"\x00x\x00\"\x00]\x00", 1)
    WRONG("byte order marks and UTF-16: UTF-16, big-endian, without",
          "\x00[\x00\"\x00x\x00\"\x00]", 0)
    WRONG("byte order marks and UTF-16: a UTF-16 mark alone", "\xFF\xFE", 0)
    WRONG("byte order marks and UTF-16: UTF-32, little-endian, with a mark",
          "\xFF\xFE\x00\x00[\x00\x00\x00]\x00\x00\x00", 0)
    /* arrays */
    RIGHT("arrays: of one", "[7]")
    RIGHT("arrays: of everything", "[null, 1, \"1\", {}, [], true]")
    RIGHT("arrays: in arrays", "[[], [[]], [[[]]]]")
    RIGHT("arrays: of objects", "[{},{\"a\":1}]")
    WRONG("arrays: a comma after the last element", "[7,]", 3)
    WRONG("arrays: after a string", "[\"x\",]", 5)
    WRONG("arrays: two of them", "[7,,]", 3)
    WRONG("arrays: two after a string", "[\"x\",,]", 5)
    WRONG("arrays: a comma alone", "[,]", 1)
    WRONG("arrays: a comma first", "[,7]", 1)
    WRONG("arrays: a blank, then a comma", "[   , \"x\"]", 4)
    WRONG("arrays: two commas between elements", "[7,,8]", 3)
    WRONG("arrays: no comma between numbers", "[7 8]", 3)
    WRONG("arrays: no comma between a number and a word", "[7 true]", 3)
    WRONG("arrays: no comma before an array", "[3[4]]", 2)
    WRONG("arrays: a colon for a comma", "[7:8]", 2)
    WRONG("arrays: a colon after a string", "[\"a\": 7]", 4)
    WRONG("arrays: a semicolon for a comma", "[7;8]", 2)
    WRONG("arrays: closed by a brace", "[7}", 2)
    WRONG("arrays: closed by a brace after a comma", "[7,}", 3)
    WRONG("arrays: empty, closed by a brace", "[}", 1)
    WRONG("arrays: closed by a parenthesis", "[7)", 2)
    /* objects */
    RIGHT("objects: of one", "{\"a\":\"b\"}")
    RIGHT("objects: of two", "{\"a\":\"b\", \"c\":\"d\"}")
    RIGHT("objects: an empty key", "{\"\":0}")
    RIGHT("objects: an array in it", "{\"a\":[]}")
    RIGHT("objects: an object in it", "{\"a\":{\"b\":{}}}")
    RIGHT("objects: equal keys", "{\"a\":\"b\",\"a\":\"c\"}")
    RIGHT("objects: equal members", "{\"a\":\"b\",\"a\":\"b\"}")
    RIGHT("objects: long strings",
          "{\"x\":[{\"id\": \"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\"}], \"id\": \"zzzzzzzzzz"
          "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzz\"}")
    RIGHT("objects: blanks around the colon", "{\"a\" : 7}")
    WRONG("objects: a comma after the last member", "{\"a\":0,}", 7)
    WRONG("objects: many of them", "{\"a\":0,,,,,}", 7)
    WRONG("objects: two commas between members", "{\"a\":\"b\",,\"c\":\"d\"}", 9)
    WRONG("objects: a comma alone", "{,}", 1)
    WRONG("objects: a comma first", "{,\"a\":1}", 1)
    WRONG("objects: no comma between members", "{\"a\":1 \"b\":2}", 7)
    WRONG("objects: a value after a value", "{\"a\":\"b\" 12}", 9)
    WRONG("objects: a comma for the colon", "{\"a\", null}", 4)
    WRONG("objects: two colons", "{\"a\"::\"b\"}", 5)
    WRONG("objects: no colon, a word", "{\"a\" b}", 5)
    WRONG("objects: no colon, a string", "{\"a\" \"b\"}", 5)
    WRONG("objects: no key", "{:\"b\"}", 1)
    WRONG("objects: no value", "{\"a\":}", 5)
    WRONG("objects: no value, then a member", "{\"a\":,\"b\":1}", 5)
    WRONG("objects: a key alone", "{\"a\"}", 4)
    WRONG("objects: a key alone after a member", "{ \"a\" : \"b\", \"c\" }", 17)
    WRONG("objects: a number as a key", "{1:1}", 1)
    WRONG("objects: a huge number as a key", "{9999E9999:1}", 1)
    WRONG("objects: a bare key", "{a: \"b\"}", 1)
    WRONG("objects: a bare key and single quotes", "{key: 'value'}", 1)
    WRONG("objects: a key in single quotes", "{'a':0}", 1)
    WRONG("objects: a bracket as a key", "{[: \"x\"}\n", 1)
    WRONG("objects: an array as a key", "{[]:1}", 1)
    WRONG("objects: an object as a key", "{{}:1}", 1)
    WRONG("objects: closed by a bracket", "{\"a\":1]", 6)
    WRONG("objects: empty, closed by a bracket", "{]", 1)
    WRONG("objects: an equals sign for the colon", "{\"a\"=1}", 4)
    WRONG("objects: a word as a value", "{\"a\":yes}", 5)
    /* comments */
    WRONG("comments: after the document", "{\"a\":\"b\"}/**/", 9)
    WRONG("comments: after it, with a slash more", "{\"a\":\"b\"}/**//", 9)
    WRONG("comments: a line of it", "{\"a\":\"b\"}//", 9)
    WRONG("comments: the beginning of one", "{\"a\":\"b\"}/", 9)
    WRONG("comments: in an object", "{\"a\":/*c*/\"b\"}", 5)
    WRONG("comments: in an array", "[7, /* c */ 8]", 4)
    WRONG("comments: before the document", "// c\n7", 0)
    WRONG("comments: a hash before the document", "# c\n7", 0)
    /* cut short */
    WRONG("cut short: an open bracket", "[", 1)
    WRONG("cut short: an open brace", "{", 1)
    WRONG("cut short: an array after a string", "[\"x\"", 4)
    WRONG("cut short: after an empty string", "[\"\"", 3)
    WRONG("cut short: after a number", "[7", 2)
    WRONG("cut short: after a comma", "[7,", 3)
    WRONG("cut short: after a newline and a comma", "[\"a\",\n4\n,1,", 11)
    WRONG("cut short: after a newline and a number", "[7,\n7\n,7", 8)
    WRONG("cut short: after an object", "[{}", 3)
    WRONG("cut short: a comma after a bracket", "[,", 1)
    WRONG("cut short: a brace after a bracket", "[{", 2)
    WRONG("cut short: a quote after a bracket", "[\"", 2)
    WRONG("cut short: a word after a word", "[ false, nul", 9)
    WRONG("cut short: false in an array", "[ true, fals", 8)
    WRONG("cut short: true in an array", "[ false, tru", 9)
    WRONG("cut short: a minus", "[-", 2)
    WRONG("cut short: a point", "[7.", 3)
    WRONG("cut short: an exponent", "[7e", 3)
    WRONG("cut short: a sign of an exponent", "[7e+", 4)
    WRONG("cut short: a key", "{\"a\"", 4)
    WRONG("cut short: a key without its quote", "{\"a", 3)
    WRONG("cut short: a single quote as a key", "{'a'", 1)
    WRONG("cut short: a colon", "{\"a\":", 5)
    WRONG("cut short: the colon of an empty key", "{\"\":", 4)
    WRONG("cut short: a value", "{\"a\":\"b\"", 8)
    WRONG("cut short: a value without its quote", "{\"a\":\"b", 7)
    WRONG("cut short: a comma in an object", "{\"a\": true,", 11)
    WRONG("cut short: a comma after a brace", "{,", 1)
    WRONG("cut short: a bracket after a brace", "{[", 1)
    WRONG("cut short: array after array", "[[[[", 4)
    WRONG("cut short: objects in arrays", "[{\"a\":[{\"b\":[", 13)
};

#undef RIGHT
#undef WRONG

enum { CASES = sizeof(json_cases) / sizeof(json_cases[0]) };

static qnnrt_json_reader r;

/* Read `before`, the text and `after` as one document. Return 1 when it is valid. */
static int reads(const char *before, const char *text, size_t bytes, const char *after)
{
    const size_t head = strlen(before), tail = strlen(after), all = head + bytes + tail;
    char *copy = (char *)malloc(all > 0 ? all : 1);
    int right;
    if (copy == NULL) abort();
    memcpy(copy, before, head);
    if (bytes > 0) memcpy(copy + head, text, bytes);
    memcpy(copy + head + bytes, after, tail);
    qnnrt_json_begin(&r, copy, all, NULL);
    right = qnnrt_json_skip(&r) && qnnrt_json_end(&r);
    free(copy);
    return right;
}

/* Check that the reader and the slow one agree, at the same byte. */
static int agrees(const char *text, size_t bytes)
{
    slow s;
    const int right = slow_document(&s, (const unsigned char *)text, bytes);
    free(s.events.data);
    return reads("", text, bytes, "") == right && (right || r.error_at == s.wrong);
}

static int has_mark(const json_case *c)
{
    return c->bytes >= 2 && (unsigned char)c->text[0] >= 0xEF && (unsigned char)c->text[1] >= 0xBB;
}

/* True if the text begins with a valid document, after which a container may end. */
static int begins_with_a_document(const json_case *c)
{
    size_t i;
    for (i = c->at; i > 0; --i)
        if (reads("", c->text, i, "")) return 1;
    return 0;
}

TEST(json_cases_are_accepted_or_refused_where_they_say)
{
    size_t i;
    for (i = 0; i < CASES; ++i) {
        const json_case *c = &json_cases[i];
        const int right = reads("", c->text, c->bytes, "");
        if (right != c->right || (!right && r.error_at != c->at)) {
            printf("%s: %s at %lu\n", c->name, right ? "accepted" : r.error, (unsigned long)r.error_at);
            CHECK_EQ(right, c->right);
            CHECK_EQ(r.error_at, c->at);
        }
        CHECK(agrees(c->text, c->bytes));
    }
}

TEST(json_cases_are_judged_the_same_within_a_document)
{
    size_t i, judged = 0;
    for (i = 0; i < CASES; ++i) {
        const json_case *c = &json_cases[i];
        int right;
        if (has_mark(c) || (!c->right && begins_with_a_document(c))) continue;
        ++judged;
        right = reads("{\"x\": [7, ", c->text, c->bytes, "], \"y\": 7}");
        if (right != c->right) printf("%s: %s\n", c->name, right ? "accepted" : r.error);
        CHECK_EQ(right, c->right);
        if (!right) CHECK(r.error_at >= c->at + 10);
    }
    CHECK(judged > CASES * 3 / 4);
}

TEST(json_cases_cut_at_every_byte_get_the_slow_readers_verdict)
{
    size_t i, bytes;
    for (i = 0; i < CASES; ++i)
        for (bytes = 0; bytes < json_cases[i].bytes; ++bytes) {
            const int same = agrees(json_cases[i].text, bytes);
            if (!same) printf("%s, %lu bytes of it\n", json_cases[i].name, (unsigned long)bytes);
            CHECK(same);
        }
}

TEST(json_cases_have_a_name_each_and_a_text_each)
{
    size_t i, k;
    for (i = 0; i < CASES; ++i)
        for (k = 0; k < i; ++k) {
            const json_case *a = &json_cases[i], *b = &json_cases[k];
            if (strcmp(a->name, b->name) == 0
                || (a->bytes == b->bytes && memcmp(a->text, b->text, a->bytes) == 0))
                printf("%s = %s\n", a->name, b->name);
            CHECK(strcmp(a->name, b->name) != 0);
            CHECK(a->bytes != b->bytes || memcmp(a->text, b->text, a->bytes) != 0);
        }
}

/* `count` times `open`, a value, `count` times `close`; return 1 when it is valid. */
static int nested(const char *open, const char *value, const char *close, size_t count)
{
    const size_t bytes = (strlen(open) + strlen(close)) * count + strlen(value);
    char *text = (char *)malloc(bytes), *at = text;
    size_t i;
    int right;
    if (text == NULL) abort();
    for (i = 0; i < count; ++i, at += strlen(open)) memcpy(at, open, strlen(open));
    memcpy(at, value, strlen(value));
    at += strlen(value);
    for (i = 0; i < count; ++i, at += strlen(close)) memcpy(at, close, strlen(close));
    right = reads("", text, bytes, "");
    free(text);
    return right;
}

TEST(json_nesting_ends_at_the_limit_whether_closed_or_not)
{
    static const struct { const char *open, *value, *close; size_t at; } kinds[] = {
        { "[", "", "]", 64 }, { "{\"a\":", "7", "}", 64 * 5 }, { "[", "", "", 64 }, { "{\"a\":", "", "", 64 * 5 },
        { "[{\"\":", "7", "}]", 32 * 5 }, { "[{\"\":", "", "", 32 * 5 }
    };
    static const size_t counts[] = { 65, 500, 50000, 100000 };
    size_t i, k;
    CHECK(nested("[", "", "]", 64));
    CHECK(nested("{\"a\":", "7", "}", 64));
    CHECK(nested("[{\"\":", "7", "}]", 32));
    CHECK(!nested("[", "", "", 64));
    CHECK_EQ(r.error_at, 64);
    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i)
        for (k = 0; k < sizeof(counts) / sizeof(counts[0]); ++k) {
            CHECK(!nested(kinds[i].open, kinds[i].value, kinds[i].close, counts[k]));
            CHECK_EQ(r.error_at, kinds[i].at);
        }
}

TEST_MAIN("json_cases")
{
    RUN(json_cases_are_accepted_or_refused_where_they_say);
    RUN(json_cases_are_judged_the_same_within_a_document);
    RUN(json_cases_cut_at_every_byte_get_the_slow_readers_verdict);
    RUN(json_cases_have_a_name_each_and_a_text_each);
    RUN(json_nesting_ends_at_the_limit_whether_closed_or_not);
}
