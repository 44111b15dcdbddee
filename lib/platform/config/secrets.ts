import { readFileSync } from "node:fs";

type Env = Record<string, string | undefined>;

/** Of the value in a file: a larger file is another one. */
const MAX_LENGTH = 64 * 1024;

/** Whether a setting is secret, by its name. URLs of databases and mail servers have a password in them. */
export const isSecret = (name: string): boolean =>
  /(SECRET|AUTHORIZATION|KEY|ACCESS_KEY_ID)$|^(DATABASE|DATABASE_MIGRATE|SMTP)_URL$/.test(name);

/**
 * Returns a secret, from its variable or from the file that `NAME_FILE` names, without the line breaks at its end. Undefined if
 * neither is set.
 * @throws Error with the code configuration_invalid, which names the setting, if both are set, or the file is empty, too large
 *   or cannot be read
 */
export function secretOf(env: Env, name: string): string | undefined {
  const value = env[name]?.trim() ? env[name] : undefined;
  const file = env[`${name}_FILE`]?.trim();
  if (!file) return value;
  if (value !== undefined) throw invalid(`${name}_FILE: ${name} is set, too`);
  const content = read(`${name}_FILE`, file).replace(/[\r\n]+$/, "");
  if (content.trim() === "") throw invalid(`${name}_FILE: ${file} is empty`);
  if (content.length > MAX_LENGTH) throw invalid(`${name}_FILE: ${file} is too large for a secret`);
  return content;
}

function read(name: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw invalid(`${name}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

const invalid = (message: string) => Object.assign(new Error(message), { code: "configuration_invalid" });
