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

/** The request with `fetch`, for browsers, Node.js and Electron. */
export function javascriptSample({ method, url, headers, body }: SampleRequest): string {
  const options = [
    ...(method === "GET" ? [] : [`method: "${method}",`]),
    ...(headers.length === 0 ? [] : ["headers: {", ...headers.map((header) => `  ${headerLine(header)}`), "},"]),
    ...(body ? [`body: ${javascriptBody(body)},`] : []),
  ];
  const argument = options.length === 0 ? "" : `, {\n${indent(options.join("\n"))}\n}`;
  return `const response = await fetch(${JSON.stringify(url)}${argument});\nconsole.log(response.status, await response.text());`;
}

function headerLine([name, value]: [string, string]): string {
  const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
  const variable = /\$([A-Z_]+)/.exec(value)?.[1];
  return variable
    ? `${key}: \`${value.replace(`$${variable}`, `\${${camelCase(variable)}}`)}\`,`
    : `${key}: ${JSON.stringify(value)},`;
}

function javascriptBody(body: NonNullable<SampleRequest["body"]>): string {
  if ("fileOfType" in body) return "file";
  if ("form" in body) return `new URLSearchParams(${JSON.stringify(body.form, null, 2)})`;
  return `JSON.stringify(${JSON.stringify(body.json, null, 2)})`;
}

/** WEBHOOK_AUTHORIZATION is webhookAuthorization. */
function camelCase(variable: string): string {
  return variable.toLowerCase().replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function indent(text: string): string {
  return text.replace(/^/gm, "  ");
}

/** The request with URLSession, for apps on Apple's platforms. */
function swiftSample({ method, url, headers, body }: SampleRequest): string {
  const settings = [
    ...(method === "GET" ? [] : [`request.httpMethod = "${method}"`]),
    ...headers.map(([name, value]) => `request.setValue(${swiftString(value)}, forHTTPHeaderField: "${name}")`),
    ...(body ? [`request.httpBody = ${swiftBody(body)}`] : []),
  ];
  const lines = [
    `${settings.length === 0 ? "let" : "var"} request = URLRequest(url: URL(string: ${JSON.stringify(url)})!)`,
    ...settings,
    "let (data, response) = try await URLSession.shared.data(for: request)",
  ];
  return lines.join("\n");
}

/** A string with the variable as an interpolation. */
function swiftString(value: string): string {
  return JSON.stringify(value).replace(/\$([A-Z_]+)/g, (_, variable: string) => `\\(${camelCase(variable)})`);
}

function swiftBody(body: NonNullable<SampleRequest["body"]>): string {
  if ("fileOfType" in body) return "try Data(contentsOf: file)";
  const text = "json" in body ? JSON.stringify(body.json, null, 2) : String(new URLSearchParams(body.form));
  return `Data(#"""\n${text}\n"""#.utf8)`;
}

export function samplesOf(request: SampleRequest): [language: string, code: string][] {
  return [
    ["curl", curlSample(request)],
    ["JavaScript", javascriptSample(request)],
    ["Swift", swiftSample(request)],
  ];
}
