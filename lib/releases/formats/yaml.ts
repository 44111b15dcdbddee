/** A text as a YAML scalar: every JSON string is a double-quoted one (YAML 1.2.2, section 7.3.1). */
export function yamlString(text: string): string {
  return JSON.stringify(text);
}
