// The parts of React that the frame needs: the global for generated code, and createRoot for frame/boot.js.
import * as React from "react";
import { createRoot } from "react-dom/client";

globalThis.React = React;
globalThis.createRoot = createRoot;
