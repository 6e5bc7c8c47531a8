import GenbenchCLI

await GenbenchCommandLine.main()
