import type { SampleRequest } from "./request";

/** The request with `fetch`, for browsers, Node.js and Electron. */
export function javascriptSample({ method, url, headers, body }: SampleRequest): string {
  const options = [
    ...(method === "GET" ? [] : [`method: "${method}",`]),
    ...(headers.length === 0 ? [] : ["headers: {", ...headers.map((header) => `  ${headerLine(header)}`), "},"]),
    ...(body ? [`body: ${bodyExpression(body)},`] : []),
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

function bodyExpression(body: NonNullable<SampleRequest["body"]>): string {
  if ("fileOfType" in body) return "file";
  if ("form" in body) return `new URLSearchParams(${JSON.stringify(body.form, null, 2)})`;
  return `JSON.stringify(${JSON.stringify(body.json, null, 2)})`;
}

/** WEBHOOK_AUTHORIZATION is webhookAuthorization. */
export function camelCase(variable: string): string {
  return variable.toLowerCase().replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function indent(text: string): string {
  return text.replace(/^/gm, "  ");
}
