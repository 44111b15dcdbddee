import type { SampleRequest } from "./request";

/** The request as a command of a POSIX shell. */
export function curlSample({ method, url, headers, body }: SampleRequest): string {
  const parts = [
    `curl ${method === "GET" ? "" : `-X ${method} `}${quote(url)}`,
    // Double quotes: the shell replaces the variable.
    ...headers.map(([name, value]) => `-H ${value.includes("$") ? `"${name}: ${value}"` : quote(`${name}: ${value}`)}`),
    ...(body ? [dataOf(body)] : []),
  ];
  return parts.join(" \\\n  ");
}

function dataOf(body: NonNullable<SampleRequest["body"]>): string {
  if ("fileOfType" in body) return "--data-binary @file";
  return `--data ${quote("json" in body ? JSON.stringify(body.json, null, 2) : String(new URLSearchParams(body.form)))}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
