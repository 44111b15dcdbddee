import { camelCase } from "./javascript";
import type { SampleRequest } from "./request";

/** The request with URLSession, for apps on Apple's platforms. */
export function swiftSample({ method, url, headers, body }: SampleRequest): string {
  const lines = [
    `var request = URLRequest(url: URL(string: ${JSON.stringify(url)})!)`,
    ...(method === "GET" ? [] : [`request.httpMethod = "${method}"`]),
    ...headers.map(([name, value]) => `request.setValue(${swiftString(value)}, forHTTPHeaderField: "${name}")`),
    ...(body ? [`request.httpBody = ${bodyExpression(body)}`] : []),
    "let (data, response) = try await URLSession.shared.data(for: request)",
  ];
  return lines.join("\n");
}

/** A string with the variable as an interpolation. */
function swiftString(value: string): string {
  return JSON.stringify(value).replace(/\$([A-Z_]+)/g, (_, variable: string) => `\\(${camelCase(variable)})`);
}

function bodyExpression(body: NonNullable<SampleRequest["body"]>): string {
  if ("fileOfType" in body) return "try Data(contentsOf: file)";
  const text = "json" in body ? JSON.stringify(body.json, null, 2) : String(new URLSearchParams(body.form));
  return `Data(#"""\n${text}\n"""#.utf8)`;
}
