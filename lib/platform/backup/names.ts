const NAME = /^homeport-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.backup$/;

/** The name of a backup: homeport-20261123T030000Z.backup. */
export function backupName(at: Date): string {
  return `homeport-${at.toISOString().replace(/[:-]|\.\d{3}/g, "")}.backup`;
}

/** When a backup of this name was made; an invalid time for any other file. */
const timeOfName = (name: string) => new Date(NAME.test(name) ? name.replace(NAME, "$1-$2-$3T$4:$5:$6Z") : Number.NaN);

/** How many backups to keep: the newest of each of the last days, weeks and months that have one. */
export type BackupRetention = { daily: number; weekly: number; monthly: number };

/**
 * The names of the backups to remove. The newest backup is always kept, and files with other names are never removed.
 * Days, months and weeks, from Monday, are in UTC.
 */
export function expiredNames(names: readonly string[], { daily, weekly, monthly }: BackupRetention): string[] {
  const backups = names.filter((name) => !Number.isNaN(timeOfName(name).getTime())).sort((a, b) => (a < b ? 1 : -1));
  const kept = new Set(backups.slice(0, 1));
  const keepNewest = (count: number, periodOf: (at: Date) => string) => {
    const periods = new Set<string>();
    for (const name of backups) {
      const period = periodOf(timeOfName(name));
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
