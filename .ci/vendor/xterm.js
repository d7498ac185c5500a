// The parts of xterm.js that the page's terminal needs.
export { FitAddon } from "@xterm/addon-fit";
export { Terminal } from "@xterm/xterm";
