// What the frame needs of React: the global for generated code, and what frame.js shows it with.
import * as React from "react";
import { createRoot } from "react-dom/client";

globalThis.React = React;
globalThis.createRoot = createRoot;
