import { readFileSync } from "node:fs";

type Env = Record<string, string | undefined>;

/** Whether a setting is secret, by its name. URLs of databases and mail servers have a password in them. */
export const isSecret = (name: string): boolean =>
  /(SECRET|AUTHORIZATION|KEY|ACCESS_KEY_ID)$|^(DATABASE|DATABASE_MIGRATE|SMTP)_URL$/.test(name);

/**
 * Returns a secret, from its variable or from the file that `NAME_FILE` names, without the line breaks at its end. Undefined if
 * neither is set.
 * @throws Error that begins with `NAME_FILE:`, if both are set, or the file is empty or cannot be read
 */
export function secretOf(env: Env, name: string): string | undefined {
  const value = env[name]?.trim() ? env[name] : undefined;
  const file = env[`${name}_FILE`]?.trim();
  if (!file) return value;
  if (value !== undefined) throw new Error(`${name}_FILE: ${name} is set, too`);
  const content = read(`${name}_FILE`, file).replace(/[\r\n]+$/, "");
  if (content.trim() === "") throw new Error(`${name}_FILE: ${file} is empty`);
  return content;
}

function read(name: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`${name}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}
