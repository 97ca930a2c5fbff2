// Where figures come from: what every page, and every file that leaves the dashboard, says about itself.

const state = $state({ synthetic: false });

export const provenance = {
  /** Whether the server says that its figures are not market prices. */
  get synthetic(): boolean {
    return state.synthetic;
  },
};

/** Notes what a response says. Every response of a server with synthetic figures says so, whatever its status. */
export function noteProvenance(headers: Headers): void {
  if (headers.get('X-Assay-Synthetic') === 'true') state.synthetic = true;
}
