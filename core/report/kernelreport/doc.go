// Package kernelreport turns a comparison of kernel recordings (prlx.diff/1, prlx.session-diff/1) into files for people and machines: html,
// writeCSV, jUnit, sarif, gitHub annotations, Chrome and Perfetto tracks. A report is a function of the document alone.
//
// What a recording may contain reaches a report escaped and bounded: no name can become markup, a command of a build log or a
// formula of a spreadsheet. The same document gives the same bytes.
package kernelreport
