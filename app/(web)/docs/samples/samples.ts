import { curlSample } from "./curl";
import { javascriptSample } from "./javascript";
import type { SampleRequest } from "./request";
import { swiftSample } from "./swift";

/** A request in each language. */
export function samplesOf(request: SampleRequest): [language: string, code: string][] {
  return [
    ["curl", curlSample(request)],
    ["JavaScript", javascriptSample(request)],
    ["Swift", swiftSample(request)],
  ];
}
