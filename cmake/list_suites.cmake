# SPDX-License-Identifier: BSD-3-Clause
# cmake -D PROGRAM=... -D FOLDER=... -D OUT=... [-D EMULATOR=...] -P list_suites.cmake: writes OUT, which tells CTest
# the test suites of a built program, one test each: FOLDER.SUITE, labelled FOLDER. EMULATOR, with its options, runs a
# program of another processor.
execute_process(COMMAND ${EMULATOR} ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
# A line that is not indented is a suite's: `Suite.`, or `Suite/0.  # TypeParam = ...`.
string(REGEX MATCHALL "(^|\n)[^ \n]+\\." suites "${listed}")
# What lies outside of peal/ takes longer: begun before the others, none of it is waited for at the end.
set(cost 10)
if(FOLDER MATCHES "^peal/")
  set(cost 1)
endif()
set(tests "")
list(TRANSFORM EMULATOR REPLACE "(.+)" "\"\\1\" " OUTPUT_VARIABLE emulator)
list(JOIN emulator "" emulator)
foreach(suite ${suites})
  string(REGEX REPLACE "^\n|\\.$" "" suite ${suite})
  set(test "${FOLDER}.${suite}")
  string(APPEND tests "add_test(\"${test}\" ${emulator}\"${PROGRAM}\" \"--gtest_filter=${suite}.*\")\n"
    "set_tests_properties(\"${test}\" PROPERTIES TIMEOUT 600 COST ${cost} LABELS \"${FOLDER}\")\n")
endforeach()
file(WRITE ${OUT} "${tests}")
