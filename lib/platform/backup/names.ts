const NAME = /^homeport-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.backup$/;

/** The name of a backup: homeport-20261123T030000Z.backup. */
export function backupName(at: Date): string {
  return `homeport-${at.toISOString().replace(/[:-]|\.\d{3}/g, "")}.backup`;
}

/** When a backup of this name was made; null for any other file. */
function timeOfName(name: string): Date | null {
  const [, ...parts] = NAME.exec(name) ?? [];
  if (parts.length === 0) return null;
  const [year, month, day, hour, minute, second] = parts;
  const at = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(at.getTime()) ? null : at;
}

/** How many backups to keep: the newest of each of the last days, weeks and months that have one. */
export type BackupRetention = { daily: number; weekly: number; monthly: number };

/**
 * The names of the backups to remove. The newest backup is always kept, and files with other names are never removed.
 * Days, months and weeks, from Monday, are in UTC.
 */
export function expiredNames(names: readonly string[], { daily, weekly, monthly }: BackupRetention): string[] {
  const backups = names.filter((name) => timeOfName(name) !== null).sort((a, b) => (a < b ? 1 : -1));
  const kept = new Set(backups.slice(0, 1));
  const keepNewest = (count: number, periodOf: (at: Date) => string) => {
    const periods = new Set<string>();
    for (const name of backups) {
      const period = periodOf(timeOfName(name) as Date);
      if (periods.has(period) || periods.size >= count) continue;
      periods.add(period);
      kept.add(name);
    }
  };
  keepNewest(daily, (at) => at.toISOString().slice(0, 10));
  keepNewest(weekly, mondayOf);
  keepNewest(monthly, (at) => at.toISOString().slice(0, 7));
  return backups.filter((name) => !kept.has(name));
}

function mondayOf(at: Date): string {
  const monday = new Date(at);
  monday.setUTCDate(at.getUTCDate() - ((at.getUTCDay() + 6) % 7));
  return monday.toISOString().slice(0, 10);
}
