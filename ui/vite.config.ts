import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

const server = 'http://127.0.0.1:8080';

// The program embeds the built files from internal/dashboard/dist. During development, `npm run dev` serves the sources
// and forwards API requests to a local server.
export default defineConfig({
  plugins: [svelte()],
  build: {
    outDir: '../internal/dashboard/dist',
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0, // a data: address would need an exception in the Content-Security-Policy
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  server: { proxy: { '/api': server, '/openapi.json': server, '/health': server, '/readyz': server, '/log': server } },
  // A test may take long on a busy machine: the first one of a file loads what it tests.
  test: { include: ['src/**/*.test.ts'], environment: 'node', unstubGlobals: true, testTimeout: 60_000 },
});
