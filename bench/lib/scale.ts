/** How long a comparison takes, and how much data a workload uses. */
export type Scale = {
  rounds: number;
  roundSeconds: number;
  warmUpSeconds: number;
  /** The pause before each round, in which other work on the machine is measured. */
  pauseMs: number;
  /** Accounts of a workload in which every request is made for another account. */
  accounts: number;
  /** The maximum of requests in flight in a closed loop. */
  maxClients: number;
  /** The responses after which wrk ends; 0 if it ends by time alone. */
  maxResponses: number;
};

const MEASURED: Scale = {
  rounds: 5,
  roundSeconds: 3,
  warmUpSeconds: 2,
  pauseMs: 300,
  accounts: 1_000,
  maxClients: 256,
  maxResponses: 0,
};
const SMOKE: Scale = {
  rounds: 1,
  roundSeconds: 0.2,
  warmUpSeconds: 0,
  pauseMs: 0,
  accounts: 50,
  maxClients: 4,
  maxResponses: 100,
};

/** `--smoke` shows that every workload still runs, in seconds. Its figures mean nothing. */
export const isSmoke = process.argv.includes("--smoke");
export const SCALE = isSmoke ? SMOKE : MEASURED;

/** The number that follows a flag. */
function numberAfter(flag: string, usual: number): number {
  const i = process.argv.indexOf(flag);
  return i < 0 ? usual : Number(process.argv[i + 1]);
}

/** The largest table of the growth workload. */
export const MAX_ROWS = numberAfter("--max-rows", 10_000_000);
/** The pairs of requests to each endpoint of account-enumeration. */
export const PAIRS = numberAfter("--pairs", isSmoke ? 4 : 2_000);
/** The records of the import workload, for each database. */
export const RECORDS = numberAfter("--records", isSmoke ? 2_000 : 200_000);
